import { showName } from '../core/name.ts';
import { compareTrees } from '../manifest/compare.ts';
import { compareLive } from './state/live-tree.ts';
import { outsideBetween, outsideChanges } from './state/outside-compare.ts';
import { sideOf, type OpenState } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import { learned, openForReading } from './state/read-state.ts';
import { findState } from './state/revision.ts';
import { hasHost, openSession } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';

/** What differs. */
export interface DiffResult {
  readonly from: string;
  readonly to: string;
  readonly changes: readonly { readonly kind: 'added' | 'removed' | 'changed'; readonly path: string }[];
  readonly times: number;
}

/** Lists the paths that differ between two states, or between a state and the tree on disk. */
export async function diff(
  ports: Ports,
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined } = {},
): Promise<DiffResult> {
  const session = await openSession(ports);
  const first = findState(session, from);
  const before = await learned(await openForReading(session, first.manifest));
  if (to === undefined) {
    const profile = await readProfile(session);
    const { changes, ownSecrets, times } = await compareLive(session, before, { root: session.root, profile, trustIndex: true });
    const beyond = hasHost(session) ? await outsideChanges(session, before, { profile, trustIndex: true }) : [];
    return {
      from: `record ${String(first.seq)}`,
      to: 'the tree',
      changes: [...changes, ...ownSecrets.map((path) => ({ kind: 'added' as const, path })), ...beyond],
      times,
    };
  }
  const second = findState(session, to);
  const after = await learned(await openForReading(session, second.manifest));
  const changes: DiffResult['changes'][number][] = [];
  let times = 0;
  for await (const change of compareTrees(sideOf(before), sideOf(after))) {
    if (change.kind === 'times') times++;
    else changes.push({ kind: change.kind, path: showName(change.path) });
  }
  const rootsOf = (state: OpenState): Parameters<typeof outsideBetween>[0] => ({ roots: state.facts.roots, get: sideOf(state).get });
  changes.push(...(await outsideBetween(rootsOf(before), rootsOf(after))));
  return { from: `record ${String(first.seq)}`, to: `record ${String(second.seq)}`, changes, times };
}
