import type { BigIntStats } from 'node:fs';
import type { RelPath } from '../core/name.ts';
import type { FileEntry } from '../manifest/entry.ts';
import type { Classification, FileClass } from '../profile/profile.ts';
import type { CopyFailure } from '../providers/sqlite/sqlite.ts';

/** A whole copy of a database that may be written meanwhile. */
export interface DatabaseCopy {
  readonly path: string;
  readonly stat: BigIntStats;
}

/** The databases that may be written while a tree is read. In a check none is copied, and such a one counts as changed. */
export interface OpenDatabases {
  /** Those that are read by a copy; their logs are in it. */
  readonly live: ReadonlySet<RelPath>;
  /** Those that could not be copied, and why: they are taken as they lie there, with their logs, and looked at again the next time. */
  readonly torn?: ReadonlyMap<RelPath, CopyFailure>;
  /** What the live ones looked like before they were copied. */
  readonly seen?: ReadonlyMap<RelPath, BigIntStats>;
  /** The copy of one of them, or why there is none. */
  readonly take?: (path: RelPath) => Promise<DatabaseCopy | CopyFailure>;
}

/** What a file is taken for: by its name and first bytes, unless it is part of another one. */
export interface Classified extends Pick<Classification, 'class' | 'flags'> {
  /** Whether its first bytes say no more. */
  readonly isFinal?: true;
  /** What is read in its place. */
  readonly copy?: DatabaseCopy;
}

/** A file that was included. */
export interface Included {
  readonly entry: FileEntry;
  /** Whether it was in motion each time that it was read. */
  readonly isMoving?: true;
  /** Whether it begins with zeros. */
  readonly isZeroed?: true;
  /** Why a live database is there as it lay on the disk. */
  readonly uncopied?: CopyFailure;
}

/** A file that does not travel. */
export interface LeftOut {
  readonly leftOut: 'volatile' | 'host';
  readonly isAppleDouble?: boolean;
}

/** What became of a file: its entry, or that it is left out, or why it could not be read. */
export type Captured = Included | LeftOut | { readonly error: unknown };

/** Whether files of a class never travel. */
export function isLeftOut(name: FileClass): name is 'volatile' | 'host' {
  return name === 'volatile' || name === 'host';
}
