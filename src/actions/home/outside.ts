import { lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync, statSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { finishRoot, stageTree } from '../../install/stage.ts';
import { syncTree } from '../../install/durable.ts';
import type { PathMap } from '../../install/relocate/path-map.ts';
import { placeLink } from '../../install/relocate/place.ts';
import { OpenedDirectories } from '../../install/opened-directories.ts';
import { isDirectoryRoot, outsideRoots, type Facts, type RecordedRoot } from '../../manifest/facts.ts';
import type { GetChunk } from '../../manifest/tree.ts';
import type { Profile } from '../../profile/profile.ts';
import type { Sqlite } from '../../providers/sqlite/sqlite.ts';
import { AgentError } from '../../core/errors.ts';
import { fsPath, parentPath, showName } from '../../core/name.ts';
import { besideOf, cameBeside, isClosedTo, outsideOf, pathAs, placeOfName, stagingBeside } from '../session/outside.ts';
import type { Ports } from '../session/ports.ts';
import type { HostSession } from '../session/session.ts';
import { sideOf, type OpenState } from '../state/open-state.ts';
import { outsidePages } from '../state/outside-capture.ts';
import { inRoot } from '../state/outside-compare.ts';
import { readFacts } from '../state/read-state.ts';
import { statesOf } from '../state/revision.ts';
import { changeStaged, type Rewrite, type Unwritten } from './change-staged.ts';
import type { HomePlace } from './due.ts';
import { planHome } from './plan.ts';

/**
 * Something that lies outside of the root, where it was put: `beside` where something else was in its place, `replaced` where that was what
 * this agent had left there, `left` where it is no place of an agent.
 */
export interface PlacedOutside {
  readonly name: string;
  readonly path: string;
  readonly how: 'placed' | 'same' | 'replaced' | 'beside' | 'left';
}

/** All that was put in place, what was rewritten in it, and what could not be. */
interface PlacedAll {
  readonly placed: readonly PlacedOutside[];
  readonly rewrites: readonly Rewrite[];
  readonly unwritten: readonly Unwritten[];
}

interface Move {
  /** Where the state was at home. */
  readonly from: HomePlace;
  readonly map: PathMap;
}

/** What lies outside of the root of a state, and where it belongs here. */
export function outsidePlaces(
  facts: Facts,
  { home }: Pick<Ports, 'home'>,
  { from, map }: Move,
): readonly { readonly root: RecordedRoot; readonly path: string }[] {
  return outsideRoots(facts).map((root) => {
    const old = placeOfName(root.name, from.home);
    return { root, path: map.place(old) ?? placeOfName(root.name, home) };
  });
}

/** Throws REHOME_STUCK where something outside has no place to go to, before anything is changed. */
export function refuseUnplaceable(facts: Facts, ports: Pick<Ports, 'home'>, move: Move): void {
  for (const { root, path } of outsidePlaces(facts, ports, move)) {
    let at = dirname(path);
    while (statOf(at) === null && at !== '/') at = dirname(at);
    if (statOf(at)?.isDirectory() !== true)
      throw new AgentError('REHOME_STUCK', `'${root.name}' cannot be put in place at '${path}': '${at}' is no directory`, {
        hints: [{ command: 'agent rehome --map /old/place=/new/place', effect: 'with another place for it; nothing was changed' }],
      });
  }
}

/**
 * Puts what lies outside of the root in place: where nothing is there, or what this agent itself had left there, by a rename, and
 * beside it where something else is, which is never written over. Can be done again.
 */
export async function placeOutside(
  session: HostSession,
  state: OpenState,
  { profile, ...move }: Move & { readonly profile: Profile },
): Promise<PlacedAll> {
  const placed: PlacedOutside[] = [];
  const rewrites: Rewrite[] = [];
  const unwritten: Unwritten[] = [];
  const sqlite = await session.ports.sqlite();
  for (const { root, path } of outsidePlaces(state.facts, session.ports, move)) {
    if (isClosedTo(path, session)) {
      placed.push({ name: root.name, path, how: 'left' });
      continue;
    }
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const staging = stagingBeside(path, root.name);
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { mode: 0o700 });
    try {
      const isDirectory = isDirectoryRoot(root.name);
      const { get } = sideOf(state);
      await stageTree({ root, get, secrets: null }, staging, { finished: true });
      const from = isDirectory ? staging : join(staging, readdirSync(staging)[0] ?? '');
      const changed = await rewriteOutside({ root, get }, staging, { profile, map: move.map, sqlite });
      rewrites.push(...changed.rewrites.map((one) => ({ ...one, path: inRoot(root.name, one.path) })));
      unwritten.push(...changed.unwritten.map((one) => ({ ...one, path: inRoot(root.name, one.path) })));
      if (isDirectory) finishRoot(staging, root);
      await syncTree(staging);
      placed.push({ name: root.name, ...(await put(session, { from, path, name: root.name, profile })) });
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  }
  return { placed, rewrites, unwritten };
}

/** Rewrites the staged files that the profile knows by where they lie, or by where they would lie within the root; links, too. */
async function rewriteOutside(
  { root, get }: { readonly root: RecordedRoot; readonly get: GetChunk },
  staging: string,
  { profile, map, sqlite }: { readonly profile: Profile; readonly map: PathMap; readonly sqlite: Sqlite | null },
): Promise<Pick<PlacedAll, 'rewrites' | 'unwritten'>> {
  const named = (path: string): readonly string[] => [inRoot(root.name, path), ...(root.as === undefined ? [] : [pathAs(root.as, path)])];
  const plan = await planHome({ pages: root.pages, get }, profile, { isElsewhere: false, map, skip: [], missing: [], named });
  const opened = new OpenedDirectories(staging);
  const paths = [...plan.texts.keys(), ...plan.databases.keys(), ...plan.links.keys()];
  for (const path of paths) opened.open(parentPath(path));
  try {
    const { rewrites, unwritten } = await changeStaged(staging, plan, { map, sqlite });
    for (const [path, leads] of plan.links) placeLink(fsPath(staging, path), leads);
    return { rewrites: [...rewrites, ...[...plan.links.keys()].map((path) => ({ path: showName(path), count: 1 }))], unwritten };
  } finally {
    opened.close();
  }
}

async function put(
  session: HostSession,
  { from, path, name, profile }: { readonly from: string; readonly path: string; readonly name: string; readonly profile: Profile },
): Promise<Pick<PlacedOutside, 'path' | 'how'>> {
  if (statOf(path) === null) {
    renameSync(from, path);
    return { path, how: 'placed' };
  }
  if (isSame(from, path)) return { path, how: 'same' };
  if (await isOwnOld(session, profile, name)) {
    const aside = besideOf(path);
    renameSync(path, aside);
    renameSync(from, path);
    rmSync(aside, { recursive: true, force: true });
    return { path, how: 'replaced' };
  }
  const known = cameBeside(path).find((one) => isSame(from, one));
  const beside = known ?? besideOf(path);
  if (known === undefined) renameSync(from, beside);
  return { path: beside, how: 'beside' };
}

/** So many states are looked through. */
const LOOKED = 40;

/** Whether what is in a place is what a state of this agent says of it: it was there before, and nobody changed it since it left. */
async function isOwnOld(session: HostSession, profile: Profile, name: string): Promise<boolean> {
  const outside = (await outsideOf(session.ports, session.root, profile)).find((one) => one.name === name && one.captured);
  if (outside === undefined) return false;
  const pages = await outsidePages(session, profile, outside);
  for (const { manifest } of statesOf(session.chain).slice(-LOOKED).reverse()) {
    const facts = await readFacts(session, manifest);
    if (facts?.roots.some((one) => one.name === name && one.pages.join() === pages) === true) return true;
  }
  return false;
}

/** Whether two files or directories hold the same names and bytes. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [lstatSync(one), lstatSync(other)];
  if (a.isDirectory() && b.isDirectory()) {
    const names = readdirSync(one).sort();
    return names.join('/') === readdirSync(other).sort().join('/') && names.every((name) => isSame(join(one, name), join(other, name)));
  }
  if (a.isSymbolicLink() && b.isSymbolicLink()) return readlinkSync(one) === readlinkSync(other);
  return a.isFile() && b.isFile() && a.size === b.size && readFileSync(one).equals(readFileSync(other));
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}
