import type { Json } from '../core/canonical.ts';
import type { Digest } from '../core/digest.ts';
import { loadName, storeName, type StoredName } from '../core/name.ts';
import type { FileClass } from '../profile/profile.ts';

interface Attributes {
  /** As core/name.ts holds names. */
  readonly name: string;
  /** Permission bits, 0 to 07777. */
  readonly mode: number;
  /** Microseconds since 1970, rounded down, as a decimal. */
  readonly mtime: string;
  readonly uid: number;
  readonly gid: number;
  readonly class: FileClass;
  readonly flags?: readonly string[];
}
/** A regular file. */
export interface FileEntry extends Attributes {
  readonly type: 'file';
  readonly size: string;
  /** Absent for class secret: the sheet of secrets has it, sealed to another key. */
  readonly sha256?: Digest;
  readonly chunks?: readonly Digest[];
  /** Digests of chunk lists, for a file of very many chunks. */
  readonly lists?: readonly Digest[];
  /** Path within the root of the first file, in walk order, that shares the inode. */
  readonly same?: string;
  /** The file had holes: chunks of zeros are left unwritten. */
  readonly sparse?: true;
}
/** A directory; its own entries are in its pages. */
export interface DirectoryEntry extends Attributes {
  readonly type: 'directory';
  readonly pages: readonly Digest[];
}
interface LinkEntry extends Attributes {
  readonly type: 'link';
  readonly target: string;
}

/** One name of a directory. */
export type Entry = FileEntry | DirectoryEntry | LinkEntry;

type Stored<E extends Entry> = Omit<E, 'name' | 'target' | 'same'> & {
  readonly name: StoredName;
  readonly target?: StoredName;
  readonly same?: StoredName;
};
/** An entry as a tree page writes it. */
export type StoredEntry = Stored<FileEntry> | Stored<DirectoryEntry> | Stored<LinkEntry>;

/** Writes an entry for a tree page, its members in canonical order. */
export function storeEntry(entry: Entry): Json {
  const { class: kind, flags, gid, mode, mtime, type, uid } = entry;
  const name = storeName(entry.name);
  if (entry.type === 'link') return { class: kind, flags, gid, mode, mtime, name, target: storeName(entry.target), type, uid };
  if (entry.type === 'directory') return { class: kind, flags, gid, mode, mtime, name, pages: entry.pages, type, uid };
  const { chunks, lists, sha256, size, sparse } = entry;
  const same = entry.same === undefined ? undefined : storeName(entry.same);
  return { chunks, class: kind, flags, gid, lists, mode, mtime, name, same, sha256, size, sparse, type, uid };
}

/** Reads an entry from a tree page that fits its schema. */
export function loadEntry(stored: StoredEntry): Entry {
  const name = loadName(stored.name);
  const { target, same } = stored;
  return {
    ...stored,
    name,
    ...(target === undefined ? {} : { target: loadName(target) }),
    ...(same === undefined ? {} : { same: loadName(same) }),
  } as Entry;
}

/** What must be equal for two entries to be the same but for their times. */
export function contentOf(entry: Entry): string {
  const { type, mode } = entry;
  if (type === 'link') return `${type} ${String(mode)} ${entry.target}`;
  if (type === 'directory') return `${type} ${String(mode)}`;
  return `${type} ${String(mode)} ${entry.size} ${entry.sha256 ?? ''} ${entry.same ?? ''}`;
}

/** Microseconds since 1970, rounded down, of a time in nanoseconds, as a decimal. */
export function microsecondsOf(nanoseconds: bigint): string {
  return String(nanoseconds / 1000n - (nanoseconds % 1000n < 0n ? 1n : 0n));
}
