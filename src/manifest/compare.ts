import type { Digest } from '../core/digest.ts';
import { ROOT_PATH, childPath, type RelPath } from '../core/name.ts';
import { contentOf, type Entry } from './entry.ts';
import { readDirectory, type GetChunk } from './tree.ts';

/** One difference between two trees. */
export type Change =
  | { readonly kind: 'added'; readonly path: RelPath; readonly after: Entry }
  | { readonly kind: 'removed'; readonly path: RelPath; readonly before: Entry }
  | { readonly kind: 'changed'; readonly path: RelPath; readonly before: Entry; readonly after: Entry }
  | { readonly kind: 'times'; readonly path: RelPath; readonly before: Entry; readonly after: Entry };

/** A directory from which entries can be read, stored or on disk. */
export interface TreeSide {
  readonly pages: readonly Digest[];
  readonly get: GetChunk;
}

/**
 * Lists the differences of two stored trees in path order. Directories with the same pages are not opened. What was added
 * or removed with its directory is listed one by one.
 */
export async function* compareTrees(before: TreeSide | null, after: TreeSide | null, parent: RelPath = ROOT_PATH): AsyncGenerator<Change> {
  if (before !== null && after !== null && before.pages.join() === after.pages.join()) return;
  const left = before === null ? empty() : readDirectory(before.pages, before.get);
  const right = after === null ? empty() : readDirectory(after.pages, after.get);
  let a = await left.next();
  let b = await right.next();
  while (a.done !== true || b.done !== true) {
    const one = a.done === true ? null : a.value;
    const other = b.done === true ? null : b.value;
    const takeLeft = one !== null && (other === null || one.name <= other.name) ? one : null;
    const takeRight = other !== null && (one === null || other.name <= one.name) ? other : null;
    const path = childPath(parent, (takeLeft ?? takeRight)?.name ?? '');
    if (takeLeft !== null && takeRight !== null) {
      const same = contentOf(takeLeft) === contentOf(takeRight);
      if (!same) yield { kind: 'changed', path, before: takeLeft, after: takeRight };
      else if (takeLeft.mtime !== takeRight.mtime) yield { kind: 'times', path, before: takeLeft, after: takeRight };
    } else if (takeLeft !== null) yield { kind: 'removed', path, before: takeLeft };
    else if (takeRight !== null) yield { kind: 'added', path, after: takeRight };
    const below = { before: sideOf(takeLeft, before), after: sideOf(takeRight, after) };
    if (below.before !== null || below.after !== null) yield* compareTrees(below.before, below.after, path);
    if (takeLeft !== null) a = await left.next();
    if (takeRight !== null) b = await right.next();
  }
}

function sideOf(entry: Entry | null, side: TreeSide | null): TreeSide | null {
  return entry?.type === 'directory' && side !== null ? { pages: entry.pages, get: side.get } : null;
}

async function* empty(): AsyncGenerator<Entry> {
  // Nothing: the side that is not there.
}
