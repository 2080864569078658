import { chmodSync, lstatSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { systemCode } from '../core/errors.ts';
import { explain } from '../core/system-error.ts';
import { fsPath, showName, type RelPath } from '../core/name.ts';
import type { TreeSide } from '../manifest/compare.ts';
import { walkTree } from '../manifest/tree.ts';
import { syncTree } from './durable.ts';
import { setTime } from './times.ts';

/**
 * Puts staged entries into a living tree, each by one rename, and takes away what is to go. What lies in the tree beside
 * them is not touched. Not one step: whoever calls it notes before that it is under way. Run again it goes on.
 */
export async function applyTree(
  root: string,
  {
    staging,
    tree,
    removed,
    owns,
  }: {
    readonly staging: string;
    readonly tree: TreeSide;
    readonly removed: readonly RelPath[];
    /** Whether a directory gets mode and time of the tree; one that only leads to an entry keeps its own. */
    readonly owns: (path: RelPath) => boolean;
  },
): Promise<void> {
  await syncTree(staging);
  // What lies deeper goes first.
  for (const path of [...removed].reverse()) remove(fsPath(root, path));
  const directories: { readonly path: RelPath; readonly mode: number; readonly mtime: string }[] = [];
  for await (const { path, entry } of walkTree(tree.pages, tree.get)) {
    const target = fsPath(root, path);
    const staged = fsPath(staging, path);
    try {
      if (entry.type === 'directory') {
        makeDirectory(target);
        if (owns(path)) directories.push({ path, mode: entry.mode, mtime: entry.mtime });
      } else if (lstatSync(staged, { throwIfNoEntry: false }) !== undefined) {
        if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true) rmdirSync(target);
        renameSync(staged, target);
      }
    } catch (error) {
      throw explain(error, showName(path));
    }
  }
  for (const { path, mode, mtime } of directories.reverse()) {
    const target = fsPath(root, path);
    chmodSync(target, mode);
    setTime(target, mtime);
  }
  await syncTree(root);
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
