import { basename, dirname, resolve } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import { ROOT_PATH, parseRelPath, showName, type RelPath } from '../../core/name.ts';
import { word } from '../../core/shell.ts';
import type { TreeSide } from '../../manifest/compare.ts';
import { isDirectoryRoot, outsideRoots, type RecordedRoot } from '../../manifest/facts.ts';
import { databaseOf } from '../../manifest/sidecars.ts';
import { findEntry } from '../../manifest/tree.ts';
import { movedFrom, placeHere } from '../home/due.ts';
import { stagingIn } from '../session/control.ts';
import { cameBeside, isClosedTo, placeOfName, stagingBeside } from '../session/outside.ts';
import { readProfile } from '../session/root-profile.ts';
import { hasHost, type Session } from '../session/session.ts';
import { inRoot } from '../state/outside-compare.ts';
import { mainRoot, sideOf, type OpenState } from '../state/open-state.ts';

/** A path that a person named: within the root (`main`), or within what lies outside of it. */
export interface Named {
  readonly root: string;
  readonly path: RelPath;
}

/** A tree of a recorded state, the paths of it that are wanted, and where it lies. */
export interface Part {
  readonly root: RecordedRoot;
  /** The directory below which its paths lie. */
  readonly place: string;
  /** Where it is staged, on the same file system. */
  readonly staging: string;
  readonly isFile: boolean;
  readonly target: TreeSide;
  /** The same tree in the newest state; null where that has none. */
  readonly head: TreeSide | null;
  readonly within: readonly RelPath[];
  /** How a path of it is spoken of. */
  readonly shown: (path: RelPath) => string;
}

/** A path as it was typed, from the directory where the command runs; throws PATH_UNKNOWN where no state of these knows the place. */
export function nameOf({ root, ports }: Pick<Session, 'root' | 'ports'>, typed: string, states: readonly OpenState[]): Named {
  if (typed === '')
    throw new AgentError('USAGE_WRONG', 'a path is empty, which would mean the whole agent', {
      hints: [{ command: 'agent restore REV .', effect: 'if the whole is meant, from its root' }],
    });
  const absolute = typed.startsWith('~/') ? placeOfName(typed, ports.home) : resolve(ports.cwd, typed);
  if (absolute === root) return { root: 'main', path: ROOT_PATH };
  if (absolute.startsWith(`${root}/`)) return { root: 'main', path: parseRelPath(absolute.slice(root.length + 1)) };
  for (const { name } of states.flatMap(({ facts }) => outsideRoots(facts))) {
    const place = placeOfName(name, ports.home);
    if (absolute === place) return { root: name, path: isFile(name) ? parseRelPath(basename(place)) : ROOT_PATH };
    if (absolute.startsWith(`${place}/`) && !isFile(name)) return { root: name, path: parseRelPath(absolute.slice(place.length + 1)) };
  }
  throw new AgentError('PATH_UNKNOWN', `'${typed}' lies neither in '${root}' nor in what was recorded with it`, {
    hints: [{ command: `cd ${word(root)}`, effect: 'paths are taken from the current directory, or from that of -C' }],
  });
}

/**
 * The trees of a state of which something is wanted: those that are named, or all that are in place here. Throws PATH_UNKNOWN where a path
 * is in neither state.
 */
export async function partsOf(
  session: Session,
  { target, head }: { readonly target: OpenState; readonly head: OpenState },
  { named, seq }: { readonly named: readonly Named[]; readonly seq: number },
): Promise<readonly Part[]> {
  const roots = named.length === 0 ? await inPlace(session, target) : [...new Set(named.map((one) => one.root))];
  const parts: Part[] = [];
  for (const name of roots) {
    const part = partOf(session, { target, head }, name);
    const paths = named.filter((one) => one.root === name).map((one) => one.path);
    for (const path of paths) await refuseUnknown(part, { path, seq });
    parts.push({ ...part, within: paths.length > 0 ? paths : part.within });
  }
  return parts;
}

/** What goes back where the whole is wanted: the root, and what lies outside where both are at home here. */
async function inPlace(session: Session, { facts }: OpenState): Promise<readonly string[]> {
  if (!hasHost(session) || movedFrom(facts, placeHere(session), await readProfile(session)) !== null) return ['main'];
  const isFree = (path: string): boolean => !isClosedTo(path, session) && cameBeside(path).length === 0;
  return facts.roots.map(({ name }) => name).filter((name) => name === 'main' || isFree(placeOfName(name, session.ports.home)));
}

function partOf(
  { root, ports, control }: Session,
  { target, head }: { readonly target: OpenState; readonly head: OpenState },
  name: string,
): Part {
  const sideIn = (state: OpenState): TreeSide | null => {
    const found = state.facts.roots.find((one) => one.name === name);
    return found === undefined ? null : { pages: found.pages, get: sideOf(state).get };
  };
  const recorded = [target, head].flatMap(({ facts }) => facts.roots.filter((one) => one.name === name))[0] ?? mainRoot(target.facts);
  const sides = { root: recorded, head: sideIn(head), target: sideIn(target) ?? { pages: [], get: sideOf(target).get } };
  if (name === 'main')
    return { ...sides, place: root, staging: stagingIn(root, control), isFile: false, within: [ROOT_PATH], shown: showName };
  const path = placeOfName(name, ports.home);
  if (isClosedTo(path, { root, ports }))
    throw new AgentError('PATH_UNKNOWN', `'${name}' is no place of an agent, and stays as it is`, {
      hints: [{ command: `agent show ${word(`HEAD:${name}`)}`, effect: 'reads what was recorded of it; nothing was changed' }],
    });
  return {
    ...sides,
    place: isFile(name) ? dirname(path) : path,
    staging: stagingBeside(path, name),
    isFile: isFile(name),
    within: [isFile(name) ? parseRelPath(basename(path)) : ROOT_PATH],
    shown: (inner) => inRoot(name, showName(inner)),
  };
}

function isFile(name: string): boolean {
  return !isDirectoryRoot(name);
}

async function refuseUnknown(
  { target, head, shown }: Part,
  { path, seq }: { readonly path: RelPath; readonly seq: number },
): Promise<void> {
  if (path === ROOT_PATH) return;
  for (const side of [target, head]) if (side !== null && (await findEntry(side.pages, path, side.get)) !== null) return;
  throw new AgentError('PATH_UNKNOWN', `'${shown(path)}' is not in record ${String(seq)}`, {
    hints: [{ command: `agent show ${String(seq)}:`, effect: 'lists what is; nothing was changed' }],
  });
}

/** Whether a path is one of some paths, lies below one of them, or is a file that SQLite keeps beside one of them. */
export function isWithin(path: RelPath, paths: readonly RelPath[]): boolean {
  const database = databaseOf(path)?.path;
  return paths.some((one) => one === ROOT_PATH || path === one || database === one || path.startsWith(`${one}/`));
}
