import type { BigIntStats } from 'node:fs';
import { digestOf, type Digest } from '../core/digest.ts';
import { childPath, storeName, type RelPath } from '../core/name.ts';
import { byCodeUnit } from '../core/order.ts';
import { contentOf, type DirectoryEntry, type Entry } from '../manifest/entry.ts';
import { writeDirectory, writeEntry, type PutChunk, type WrittenEntry } from '../manifest/tree.ts';
import type { FileClass } from '../profile/profile.ts';

/** A directory with all that is below it. */
export interface Below {
  readonly pages: readonly Digest[];
  /** Digest of each class. */
  readonly classes: ReadonlyMap<FileClass, Digest>;
}

/** A directory within another. */
export interface Subdirectory {
  readonly path: RelPath;
  readonly entry: Omit<DirectoryEntry, 'pages'>;
}

/** An entry of a directory, and what was seen of a file. */
export interface Taken extends WrittenEntry {
  readonly entry: Entry;
  readonly stat: BigIntStats | null;
}

/** What a directory holds, itself and in those below it. */
interface Contents {
  readonly taken: readonly Taken[];
  readonly subdirectories: readonly Subdirectory[];
  /** What each of them came to. */
  readonly below: readonly Below[];
}

/** Writes the pages of a directory, and digests each class in it. */
export async function finishDirectory(path: RelPath, { taken, subdirectories, below }: Contents, put: PutChunk): Promise<Below> {
  const lines = new Map<FileClass, string[]>();
  const entries: WrittenEntry[] = [...taken];
  for (const { entry } of taken)
    if (!isGitNoise(childPath(path, entry.name))) add(lines, entry.class, `${nameKey(entry.name)} ${contentOf(entry)}`);
  for (const [at, { path: child, entry }] of subdirectories.entries()) {
    const inner = below[at];
    entries.push(writeEntry({ ...entry, pages: inner?.pages ?? [] }));
    if (isGitNoise(child)) continue;
    add(lines, entry.class, `${nameKey(entry.name)} directory ${String(entry.mode)}`);
    for (const [name, digest] of inner?.classes ?? []) add(lines, name, `${nameKey(entry.name)} ${digest}`);
  }
  entries.sort((a, b) => byCodeUnit(a.name, b.name));
  const classes = new Map([...lines].map(([name, list]) => [name, digestOf(list.sort().join('\n'))] as const));
  return { pages: await writeDirectory(entries, put), classes };
}

/** Puts pages but for those that the recorded state has: a directory that is put together each time opens no store by that. */
export function unless(recorded: readonly Digest[], put: PutChunk): PutChunk {
  return (digest, bytes) => (recorded.includes(digest) ? Promise.resolve() : put(digest, bytes));
}

function nameKey(name: string): string {
  return JSON.stringify(storeName(name));
}

function add(lines: Map<FileClass, string[]>, name: FileClass, line: string): void {
  const list = lines.get(name);
  if (list === undefined) lines.set(name, [line]);
  else list.push(line);
}

/** Git's index, logs and heads of fetches change without the body changing. */
function isGitNoise(path: string): boolean {
  return /(^|\/)\.git\/(index|logs|[A-Z_]*_HEAD|COMMIT_EDITMSG|gc\.log)$/.test(path);
}
