import { lstatSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import { childPath, fsPath, parentPath, type RelPath } from '../../core/name.ts';
import { PathMap, newSlug, type Moved } from '../../install/relocate/path-map.ts';
import type { Renamed } from '../../install/relocate/place.ts';
import type { Profile } from '../../profile/profile.ts';
import { readProfile } from '../session/root-profile.ts';
import type { HostSession } from '../session/session.ts';
import { sideOf, type OpenState } from '../state/open-state.ts';
import { learned, openForReading } from '../state/read-state.ts';
import { movedFrom, placeHere, type HomePlace, type MoveNote } from './due.ts';
import { planHome, type HomePlan } from './plan.ts';

/** What a rehome is told. */
export interface RehomeOptions {
  /** Further places that moved, beside the root and the account's home. */
  readonly moved: readonly Moved[];
  /** Paths that stay as they are. */
  readonly skip: readonly string[];
  /** Whether the tree stays as it is, and only that it is at home here is recorded. */
  readonly asIs: boolean;
}

/** What a rehome goes by. */
export interface Work {
  readonly state: OpenState;
  readonly profile: Profile;
  readonly from: HomePlace | null;
  readonly map: PathMap;
  readonly skip: readonly string[];
  /** Null where nothing is to be changed. */
  readonly plan: HomePlan | null;
}

/** Finds out what a rehome has to do; `begun` is one that was interrupted. */
export async function workOf(session: HostSession, { moved, skip, asIs }: RehomeOptions, begun: MoveNote['begun']): Promise<Work> {
  const { state: ledger, ports } = session;
  if (ledger.manifest === null)
    throw new AgentError('CHECKPOINT_MISSING', `nothing of '${session.name}' is recorded yet`, {
      hints: [{ command: 'agent checkpoint' }],
    });
  const state = await learned(await openForReading(session, ledger.manifest));
  const profile = await readProfile(session);
  const here = placeHere(session);
  const from = movedFrom(state.facts, here, profile);
  const absolute = (path: string): string => (begun === null ? resolve(ports.cwd, path) : path);
  const map = new PathMap([
    ...moved.map((one) => ({ from: absolute(one.from), to: absolute(one.to) })),
    ...(from === null
      ? []
      : [
          { from: from.root, to: here.root },
          { from: from.home, to: here.home },
        ]),
  ]);
  const isElsewhere = from !== null && from.host !== here.host;
  const missing = state.facts.findings.filter((one) => one.code === 'SECRET_MISSING').map((one) => one.subject);
  const nothing = asIs || (map.isEmpty && !isElsewhere);
  return {
    state,
    profile,
    from,
    map,
    skip,
    plan: nothing ? null : await planHome(sideOf(state), profile, { isElsewhere, map, skip, missing }),
  };
}

/** Directories that are named by an old path, and what they are to be called, where nothing has that name. */
export function renamesOf(root: string, { plan, map }: Pick<Work, 'plan' | 'map'>): readonly Renamed[] {
  const isFree = (path: RelPath): boolean => lstatSync(fsPath(root, path), { throwIfNoEntry: false }) === undefined;
  const found: Renamed[] = [];
  for (const [path, of] of plan?.slugs ?? []) {
    const name = basename(path);
    const now = newSlug(name, { of, map });
    if (now === null || now === name) continue;
    const to = childPath(parentPath(path), now);
    if (isFree(to) && !found.some((one) => one.to === to)) found.push({ from: path, to });
  }
  return found;
}

/** Paths through a directory that gets another name are rewritten whole. */
export function withRenames({ from, map }: Pick<Work, 'from' | 'map'>, root: string, renames: readonly Renamed[]): PathMap {
  const old = from?.root ?? root;
  return new PathMap([...map.moved, ...renames.map((one) => ({ from: join(old, one.from), to: join(root, one.to) }))]);
}

/** What is looked for afterwards: the old places, and the old host by its name, where that is no word of any text. */
export function textsOf({ from, map, state }: Work): readonly string[] {
  const host = (from === null ? undefined : state.facts.labels['host'])?.split('@').at(-1);
  const here = host === undefined || host.length < 5 || host === 'localhost' ? [] : [host];
  // A place within another one would be found twice.
  const places = map.moved.map((one) => one.from);
  return [...places.filter((one) => !places.some((other) => other !== one && one.startsWith(other))), ...here];
}
