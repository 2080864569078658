import type { Digest } from '../core/digest.ts';
import { ROOT_PATH, childPath, type RelPath } from '../core/name.ts';
import type { TreeSide } from './compare.ts';
import type { Entry } from './entry.ts';
import { readDirectory, writeDirectory, writeEntry } from './tree.ts';

/**
 * A tree that holds only what is wanted of another one, with the directories that lead to it. Its new pages live in memory.
 * A further name of a file whose first name is not wanted becomes a file of its own.
 */
export async function selectTree(tree: TreeSide, wants: (path: RelPath, entry: Entry) => boolean): Promise<TreeSide> {
  const pages = new Map<Digest, Buffer>();
  const chosen = new Map<string, Entry>();
  const visit = async (level: readonly Digest[], parent: RelPath): Promise<readonly Digest[]> => {
    const entries: Entry[] = [];
    for await (const entry of readDirectory(level, tree.get)) {
      const path = childPath(parent, entry.name);
      const wanted = wants(path, entry);
      if (entry.type !== 'directory') {
        if (!wanted) continue;
        const own = entry.type === 'file' ? withFirst(entry, chosen) : entry;
        chosen.set(path, own);
        entries.push(own);
        continue;
      }
      const below = await visit(entry.pages, path);
      if (wanted || below.length > 0) entries.push({ ...entry, pages: below });
    }
    return writeDirectory(entries.map(writeEntry), (digest, bytes) => {
      pages.set(digest, Buffer.from(bytes));
      return Promise.resolve();
    });
  };
  const top = await visit(tree.pages, ROOT_PATH);
  return { pages: top, get: (digest) => Promise.resolve(pages.get(digest) ?? tree.get(digest)) };
}

/** An entry as it stands by itself where the first name of its file was not chosen. */
function withFirst(entry: Extract<Entry, { type: 'file' }>, chosen: ReadonlyMap<string, Entry>): Entry {
  if (entry.same === undefined || chosen.has(entry.same)) return entry;
  const { same: _, ...own } = entry;
  return own;
}
