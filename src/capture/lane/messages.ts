import type { HeaderKind } from './pieces.ts';

/** A file that is to be read up to a length. */
export interface LaneFile {
  /** Absolute; bytes where the name is not UTF-8. */
  readonly path: string | Uint8Array;
  readonly size: number;
}

/** What goes to a lane. A batch is answered by one part or, where its only file is long, by many. */
export type ToLane =
  | {
      readonly kind: 'batch';
      readonly batch: number;
      readonly paths: readonly LaneFile['path'][];
      readonly sizes: readonly number[];
      /** Whether chunks are cut, or only the digests of whole files are wanted. */
      readonly cuts: boolean;
    }
  /** For each chunk of a part where it goes: nowhere, among the main ones, or among the secret ones. */
  | { readonly kind: 'verdict'; readonly part: number; readonly keep: Uint8Array }
  | { readonly kind: 'flush' };

/** A part that was read, in columns: thousands of objects would cost more to send than the bytes to hash. */
export interface LanePart {
  readonly kind: 'part';
  readonly part: number;
  readonly batch: number;
  readonly isLast: boolean;
  /** For each file how many chunks are in this part. */
  readonly chunks: Uint32Array;
  /** For each file a HeaderKind. */
  readonly headers: readonly HeaderKind[];
  /** For each file, with its last part: device, inode, size, mtime and ctime after it was read. */
  readonly versions: BigInt64Array;
  /** 32 bytes for each file, with its last part: the digest of the whole. */
  readonly wholes: Uint8Array;
  /** 32 bytes and a length for each chunk. */
  readonly digests: Uint8Array;
  readonly lengths: Uint32Array;
  /** Files of the part that could not be read, and what the system said; ENOENT where there is no regular file any more. */
  readonly errors: ReadonlyMap<number, string>;
}

/** What comes from a lane. */
export type FromLane =
  | LanePart
  | {
      readonly kind: 'frame';
      readonly use: number;
      readonly chunks: number;
      readonly raw: number;
      readonly encoded: Uint8Array<ArrayBuffer>;
    }
  | { readonly kind: 'flushed' };

/** Numbers of a version. */
export const VERSION = 5;
/** Verdicts. */
export const KEEP = { none: 0, main: 1, secret: 2 } as const;
/** Bytes of a part: many small files, or some of a long one; a multiple of every cut. */
export const PART = 1024 * 1024;
