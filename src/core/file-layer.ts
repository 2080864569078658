import type * as nodeFs from 'node:fs';

/** The part of node:fs that the file layer stands on; tests give memfs. */
export type FileSystem = Pick<typeof nodeFs, 'promises' | 'constants'>;

/** Called before each single change to the file system; a test makes it throw, which is a crash at that point. */
export type BeforeChange = (change: string, path: string) => void;

/** What a file is to hold: whole, or part by part. */
export type Content = Uint8Array | string | Iterable<Uint8Array>;

/** What identifies a file or directory beyond its path. */
export interface FileId {
  readonly dev: string;
  readonly ino: string;
  /** Birth time in nanoseconds, '0' where the file system has none. */
  readonly birth: string;
}

/**
 * The one file layer: every write of the control and host directories goes through it. A write is a temporary name
 * beside the target, write, fsync, rename or link, fsync of the directory and of each new ancestor. A failed fsync
 * throws and is never retried: after it the page cache may claim what the disk does not have.
 */
export interface Files {
  /** The bytes of a file; throws FILE_MISSING or FILE_UNREADABLE. */
  read(path: string): Promise<Buffer>;
  /** The bytes of a file, or null where there is none. */
  readIfPresent(path: string): Promise<Buffer | null>;
  /** Up to `length` bytes from `offset`. */
  readRange(path: string, range: { readonly offset: number; readonly length: number }): Promise<Buffer>;
  /** Size in bytes, or null where there is none; throws FILE_UNREADABLE for a link, FIFO or device, which is never opened. */
  size(path: string): Promise<number | null>;
  /** When it was last written, in milliseconds since 1970, or null where there is none. */
  modified(path: string): Promise<number | null>;
  exists(path: string): Promise<boolean>;
  identify(path: string): Promise<FileId | null>;
  /** Names in a directory, sorted; empty where it does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Makes a directory (0700) and its missing ancestors, each durable in its parent. */
  makeDirectory(path: string): Promise<void>;
  /** Puts a whole file in place of what is there. Mode 0600 unless given. */
  replace(path: string, bytes: Content, options?: { readonly mode?: number }): Promise<void>;
  /** Puts a file where none is, by link(2): of two at once exactly one gets true. */
  create(path: string, bytes: Uint8Array | string, options?: { readonly mode?: number }): Promise<boolean>;
  /** Appends at exactly `at` bytes, durably; throws RACE_LOST where the file ends elsewhere. */
  append(path: string, bytes: Uint8Array | string, options: { readonly at: number }): Promise<void>;
  truncate(path: string, size: number): Promise<void>;
  remove(path: string): Promise<void>;
  /** Removes temporaries that a crash left in a directory: those of names with `prefix`, last written before `before` (ms since 1970). */
  sweep(path: string, before: number, prefix?: string): Promise<void>;
  removeTree(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
}
