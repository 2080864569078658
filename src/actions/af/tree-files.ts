import { join } from 'node:path';
import { surveyed } from '../../capture/survey.ts';
import type { Files } from '../../core/files.ts';
import type { RelPath } from '../../core/name.ts';
import { chunksOf, walkTree } from '../../manifest/tree.ts';
import type { Profile } from '../../profile/profile.ts';
import { mainRoot, sideOf, type OpenState } from '../state/open-state.ts';

/** A file of a tree, wherever the tree is; `size` is null for what is no regular file. */
export interface TreeFile {
  readonly path: RelPath;
  readonly size: bigint | null;
  readonly read: () => Promise<Buffer>;
}

/** The files of the tree on disk that a checkpoint would record. */
export function filesOnDisk(files: Files, root: string, profile: Profile): readonly TreeFile[] {
  const found: TreeFile[] = [];
  for (const { path, stat, class: kind } of surveyed(root, profile))
    if (kind !== 'volatile') found.push({ path, size: stat.isFile() ? stat.size : null, read: () => files.read(join(root, path)) });
  return found;
}

/** The files of a recorded state whose packs were learned. Those of class secret cannot be read. */
export async function filesOfState(state: OpenState): Promise<readonly TreeFile[]> {
  const { get } = sideOf(state);
  const found: TreeFile[] = [];
  for await (const { path, entry } of walkTree(mainRoot(state.facts).pages, get)) {
    if (entry.type === 'link') found.push({ path, size: null, read: nothing });
    if (entry.type !== 'file') continue;
    const read = async (): Promise<Buffer> => {
      const parts: Buffer[] = [];
      for await (const digest of chunksOf(entry, get)) parts.push(await get(digest));
      return Buffer.concat(parts);
    };
    found.push({ path, size: entry.class === 'secret' ? null : BigInt(entry.size), read });
  }
  return found;
}

function nothing(): Promise<Buffer> {
  return Promise.resolve(Buffer.alloc(0));
}
