import { showName } from '../../core/name.ts';
import { compareTrees, type TreeSide } from '../../manifest/compare.ts';
import { isDirectoryRoot, outsideRoots, type RecordedRoot } from '../../manifest/facts.ts';
import type { GetChunk } from '../../manifest/tree.ts';
import type { Profile } from '../../profile/profile.ts';
import { movedFrom, placeHere } from '../home/due.ts';
import { keptPages, type LiveDifference } from './live-tree.ts';
import { captureOutside } from './outside-capture.ts';
import { sideOf, type OpenState } from './open-state.ts';
import { readFacts } from './read-state.ts';
import type { HostSession } from '../session/session.ts';

/** Trees, and how to read them. */
interface Roots {
  readonly roots: readonly RecordedRoot[];
  readonly get: GetChunk;
}

/** What differs outside of the root between two states, in order of names; files that differ in their times alone do not count. */
export async function outsideBetween(before: Roots, after: Roots): Promise<LiveDifference['changes']> {
  const named = (all: Roots): ReadonlyMap<string, RecordedRoot> => new Map(outsideRoots(all).map((one) => [one.name, one]));
  const [left, right] = [named(before), named(after)];
  const changes: LiveDifference['changes'][number][] = [];
  for (const name of [...new Set([...left.keys(), ...right.keys()])].sort()) {
    const [one, other] = [left.get(name), right.get(name)];
    const found = compareTrees(
      one === undefined ? null : { pages: one.pages, get: before.get },
      other === undefined ? null : { pages: other.pages, get: after.get },
    );
    for await (const { kind, path } of found) if (kind !== 'times') changes.push({ kind, path: inRoot(name, showName(path)) });
  }
  return changes;
}

/** How what lies outside of the root differs from a state whose packs were learned; nothing is in place until the agent is at home here. Writes nothing. */
export async function outsideChanges(
  session: HostSession,
  state: OpenState,
  { profile, trustIndex }: { readonly profile: Profile; readonly trustIndex: boolean },
): Promise<LiveDifference['changes']> {
  const { manifest } = session.state;
  const newest = manifest === null ? null : await readFacts(session, manifest);
  if (newest !== null && movedFrom(newest, placeHere(session), profile) !== null) return [];
  const kept = keptPages(state);
  const { roots } = await captureOutside(session, profile, { isHome: false, readsAll: !trustIndex, putTree: kept.putTree });
  return outsideBetween({ roots: state.facts.roots, get: sideOf(state).get }, { roots, get: kept.get });
}

/** The trees outside of the root as they lie there, by name, to be compared with a state whose packs were learned. Writes nothing. */
export async function liveOutside(session: HostSession, state: OpenState, profile: Profile): Promise<ReadonlyMap<string, TreeSide>> {
  const kept = keptPages(state);
  const { roots } = await captureOutside(session, profile, { isHome: false, putTree: kept.putTree });
  return new Map(roots.map(({ name, pages }) => [name, { pages, get: kept.get }]));
}

/** Whether what lies outside of the root is as the facts say. Opens no pack. */
export async function isOutsideUnchanged(session: HostSession, profile: Profile, before: readonly RecordedRoot[]): Promise<boolean> {
  const { roots } = await captureOutside(session, profile, { isHome: false, putTree: () => Promise.resolve() });
  const named = (list: readonly RecordedRoot[]): string =>
    outsideRoots({ roots: list })
      .map(({ name, pages }) => [name, ...pages].join())
      .sort()
      .join('\n');
  return named(roots) === named(before);
}

/** How a path of a root outside is spoken of. */
export function inRoot(name: string, path: string): string {
  return isDirectoryRoot(name) ? `${name}${path}` : name;
}
