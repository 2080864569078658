import { lstatSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { AgentError } from '../../core/errors.ts';
import { fsPath, nameToBytes, parentPath, showName, type RelPath } from '../../core/name.ts';
import { explain } from '../../core/system-error.ts';
import { microsecondsOf, type Entry } from '../../manifest/entry.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import { HELD } from '../../profile/profile.ts';
import { refuseChanged } from '../apply.ts';
import { OpenedDirectories } from '../opened-directories.ts';
import { setTime } from '../times.ts';

/** A directory that gets another name. */
export interface Renamed {
  readonly from: RelPath;
  readonly to: RelPath;
}

/** What is done to a tree that moved. Paths are those before anything is renamed. */
export interface Placing {
  readonly staging: string;
  /** Staged files that differ from what is there. */
  readonly changed: readonly RelPath[];
  readonly databases: { readonly has: (path: RelPath) => boolean };
  readonly renames: readonly Renamed[];
  readonly links: ReadonlyMap<RelPath, string>;
  readonly dropped: readonly RelPath[];
  /** What is set aside under another name. */
  readonly held: readonly RelPath[];
  /** What was recorded at a path; null where the tree is a mixture that is to be replaced. */
  readonly expected: ((path: RelPath) => Entry | null) | null;
}

/**
 * Changes a tree that moved. Each step can be done again: what was renamed, dropped or held already stays so, and files come from
 * the staging, which is made anew of the recorded state. Throws before the first change where a file was written since it was recorded.
 */
export function placeMoved(root: string, placing: Placing): void {
  const { staging, changed, databases, renames, links, dropped, held, expected } = placing;
  if (expected !== null) for (const path of changed) refuseChanged(fsPath(root, path), path, expected(path));
  const opened = new OpenedDirectories(root);
  /** Where a path lies now; its directories are real ones, and can be written. */
  const at = (path: RelPath): string | Buffer => {
    const now = placeOf(path, renames);
    refuseLinks(root, now);
    opened.open(parentPath(now));
    return fsPath(root, now);
  };
  try {
    for (const { from, to } of renames) {
      refuseLinks(root, from);
      opened.open(parentPath(from));
      if (lstatOf(fsPath(root, from))?.isDirectory() === true && lstatOf(fsPath(root, to)) === undefined)
        renameSync(fsPath(root, from), fsPath(root, to));
    }
    for (const path of changed) {
      const target = at(path);
      // Done again, it may be set aside already.
      const isHeld = held.some((one) => path === one || path.startsWith(`${one}/`)) && lstatOf(target) === undefined;
      if (isHeld) continue;
      if (databases.has(path)) for (const one of sidecarsOf(placeOf(path, renames))) rmSync(fsPath(root, one), { force: true });
      renameSync(fsPath(staging, path), target);
    }
    for (const [path, leads] of links) placeLink(at(path), leads);
    for (const path of dropped) rmSync(at(path), { force: true, recursive: true });
    for (const path of held) setAside(at(path));
  } catch (error) {
    throw explain(error, root);
  } finally {
    opened.close();
  }
}

function placeOf(path: RelPath, renames: readonly Renamed[]): RelPath {
  const found = renames.find(({ from }) => path.startsWith(`${from}/`));
  return found === undefined ? path : (`${found.to}${path.slice(found.from.length)}` as RelPath);
}

/** Throws TREE_DAMAGED where a path leads through a link: another's tree could send what is written anywhere. */
function refuseLinks(root: string, path: RelPath): void {
  for (let parent = parentPath(path); parent !== ''; parent = parentPath(parent)) {
    const stat = lstatOf(fsPath(root, parent));
    if (stat !== undefined && !stat.isDirectory())
      throw new AgentError('TREE_DAMAGED', `'${showName(path)}' leads through '${showName(parent)}', which is no directory`);
  }
}

/** Sets a file or directory aside; what was set aside before stays beside it. */
function setAside(path: string | Buffer): void {
  if (lstatOf(path) === undefined) return;
  let aside = Buffer.from(path);
  do aside = Buffer.concat([aside, Buffer.from(HELD)]);
  while (lstatOf(aside) !== undefined);
  renameSync(path, aside);
}

/** Makes a link lead elsewhere, by one rename, and keeps its time; one that is set aside already does so. */
export function placeLink(path: string | Buffer, leads: string): void {
  const old = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (old?.isSymbolicLink() !== true) return;
  const temporary = Buffer.concat([Buffer.from(path), Buffer.from('.perdure-new')]);
  rmSync(temporary, { force: true });
  symlinkSync(nameToBytes(leads), temporary);
  setTime(temporary, microsecondsOf(old.mtimeNs));
  renameSync(temporary, path);
}

function lstatOf(path: string | Buffer): ReturnType<typeof lstatSync> {
  return lstatSync(path, { throwIfNoEntry: false });
}
