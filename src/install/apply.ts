import { lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { AgentError, systemCode } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import { explain } from '../core/system-error.ts';
import { childPath, fsPath, nameFromBytes, parentPath, showName, type RelPath } from '../core/name.ts';
import { microsecondsOf, type Entry } from '../manifest/entry.ts';
import type { TreeSide } from '../manifest/compare.ts';
import { sidecarsOf } from '../manifest/sidecars.ts';
import { walkTree } from '../manifest/tree.ts';
import { syncTree } from './durable.ts';
import { OpenedDirectories } from './opened-directories.ts';

/** What is put into a living tree, and what is taken out of it. */
export interface Application {
  /** Where the entries lie; its directories can be written. */
  readonly staging: string;
  readonly tree: TreeSide;
  readonly removed: readonly RelPath[];
  /** Whether a directory gets mode and time of the tree; one that only leads to an entry keeps its own. */
  readonly owns: (path: RelPath) => boolean;
  /** What was recorded at a path before it is replaced or taken away; null where nothing was. */
  readonly expected: (path: RelPath) => Entry | null;
  /** Whether the wanted state has a path. */
  readonly keeps: (path: RelPath) => boolean;
}

/**
 * Puts staged entries into a living tree, each by one rename, and takes away what is to go. What lies in the tree beside
 * them is not touched. Not one step: whoever calls it notes before that it is under way. Run again it goes on.
 */
export async function applyTree(root: string, { staging, tree, removed, owns, expected, keeps }: Application): Promise<void> {
  await syncTree(staging);
  const opened = new OpenedDirectories(root);
  try {
    // What lies deeper goes first.
    for (const path of [...removed].reverse()) {
      opened.open(parentPath(path));
      refuseChanged(fsPath(root, path), path, expected(path));
      remove(fsPath(root, path));
    }
    for await (const { path, entry } of walkTree(tree.pages, tree.get)) {
      opened.open(parentPath(path));
      if (entry.type === 'directory') {
        makeDirectory(fsPath(root, path));
        if (owns(path)) opened.wanted(path, { mode: entry.mode, mtime: entry.mtime });
      } else
        place(fsPath(staging, path), fsPath(root, path), () => {
          refuseChanged(fsPath(root, path), path, expected(path));
          if (entry.type === 'file' && entry.flags?.includes('sqlite') === true) removeSidecars(root, path, keeps);
        });
    }
  } catch (error) {
    throw explain(error, root);
  } finally {
    opened.close();
  }
  await syncTree(root);
}

/**
 * Finds a directory that is to give way to a file and holds something that no state has, so that it cannot; null where there
 * is none. Look before the first change.
 */
export async function findObstacle(root: string, { tree, removed }: Pick<Application, 'tree' | 'removed'>): Promise<RelPath | null> {
  const going = new Set<string>(removed);
  const holdsMore = (path: RelPath): boolean =>
    readdirSync(fsPath(root, path), { encoding: 'buffer' }).some((bytes) => {
      const child = childPath(path, nameFromBytes(bytes));
      return !going.has(child) || (lstatSync(fsPath(root, child)).isDirectory() && holdsMore(child));
    });
  for await (const { path, entry } of walkTree(tree.pages, tree.get))
    if (entry.type !== 'directory' && isDirectory(fsPath(root, path)) && holdsMore(path)) return path;
  return null;
}

function isDirectory(path: string | Buffer): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch (error) {
    // Above it, too, there may be a file where a directory is to be.
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return false;
    throw error;
  }
}

/** Files of SQLite beside a database that is put back would speak of another content, but for those that the wanted state has. */
function removeSidecars(root: string, path: RelPath, keeps: (path: RelPath) => boolean): void {
  for (const one of sidecarsOf(path)) if (!keeps(one)) remove(fsPath(root, one));
}

function place(staged: string | Buffer, target: string | Buffer, check: () => void): void {
  // Run again after a cut, what was placed already is not in the staging of before, and is staged anew.
  if (lstatSync(staged, { throwIfNoEntry: false }) === undefined) return;
  if (isDirectory(target)) rmdirSync(target);
  check();
  renameSync(staged, target);
}

/** Throws TREE_CHANGING where a file is not what was recorded: what was written since is not thrown away. */
export function refuseChanged(target: string | Buffer, path: RelPath, expected: Entry | null): void {
  const stat = lstatSync(target, { bigint: true, throwIfNoEntry: false });
  if (stat?.isFile() !== true) return;
  // The copy of a database is as long as it likes.
  const isLong = expected?.type === 'file' && (String(stat.size) === expected.size || expected.flags?.includes('copied') === true);
  if (isLong && microsecondsOf(stat.mtimeNs) === expected.mtime) return;
  throw new AgentError('TREE_CHANGING', `'${showName(path)}' was written while it was to be replaced`, {
    hints: [
      { command: `fuser -v ${word(showName(path))}`, effect: 'may name who; stop it' },
      { command: 'agent status', effect: 'shows how it goes on: what was written is recorded first' },
    ],
  });
}

function makeDirectory(path: string | Buffer): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there?.isDirectory() === true) return;
  if (there !== undefined) unlinkSync(path);
  mkdirSync(path, 0o700);
}

/** Takes one name away; a directory that still holds something (what no state has) stays. */
function remove(path: string | Buffer): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isDirectory()) {
    unlinkSync(path);
    return;
  }
  try {
    rmdirSync(path);
  } catch (error) {
    if (systemCode(error) !== 'ENOTEMPTY' && systemCode(error) !== 'EEXIST') throw error;
  }
}
