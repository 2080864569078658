import { closeSync, constants, fstatSync, openSync, readSync, type BigIntStats } from 'node:fs';
import { createHash } from 'node:crypto';
import { digestOf, finishDigest, type Digest } from '../core/digest.ts';

/** Takes the chunks of a file as they are read; the bytes are those of a buffer that is used again, and are to be copied at once. */
type TakeChunk = (digest: Digest, bytes: Buffer) => Promise<void>;

/** What the first bytes of a file say. */
export type HeaderKind = 'sqlite' | 'appledouble' | undefined;

/** How a file is read. */
export interface ReadOptions {
  /** What was seen at the path before: another file in its place is not steady. */
  readonly expected: BigIntStats;
  /** A buffer of at least CUT bytes. */
  readonly scratch: Buffer;
  readonly take: TakeChunk;
}

/** A file that was read. */
export interface ReadResult {
  readonly sha256: Digest;
  readonly chunks: readonly Digest[];
  readonly size: bigint;
  readonly header: HeaderKind;
  /** Whether size, times and inode were the same after reading as before. */
  readonly steady: boolean;
}

const SQLITE = Buffer.from('SQLite format 3\0');
const APPLEDOUBLE = Buffer.from([0, 5, 0x16, 7]);
/** Fixed cuts: database pages change in place, everything else grows at its end or changes whole. */
const DATABASE_CUT = 16 * 1024;
/** What is no database is cut so. */
export const CUT = 128 * 1024;
/** The end of a longer file is cut at powers of two from CUT / 2 down to this, so that appending stores little again. */
const LEAST_CUT = 8 * 1024;

/** What the first bytes of a file say of its kind. */
function headerOf(bytes: Buffer): HeaderKind {
  if (bytes.subarray(0, SQLITE.length).equals(SQLITE)) return 'sqlite';
  return bytes.subarray(0, APPLEDOUBLE.length).equals(APPLEDOUBLE) ? 'appledouble' : undefined;
}

/** Looks at the first bytes of a regular file without following a link. */
export function peekHeader(path: string | Buffer): HeaderKind {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const bytes = Buffer.alloc(SQLITE.length);
    return headerOf(bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, 0)));
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads a regular file up to the length that it had when it was opened, cut into chunks. The file must still be the one
 * of `expected` (a link or FIFO put in its place is not followed and not waited for). Throws the system's errors.
 */
export async function readFile(path: string | Buffer, { expected, scratch, take }: ReadOptions): Promise<ReadResult> {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const before = fstatSync(fd, { bigint: true });
    const whole = createHash('sha256');
    const chunks: Digest[] = [];
    let header: HeaderKind;
    let at = 0n;
    if (before.isFile()) {
      for (let cut = CUT; at < before.size;) {
        const left = before.size - at;
        const chunk = fill(fd, scratch.subarray(0, left < BigInt(cut) ? Number(left) : cut), at);
        if (chunk.length === 0) break;
        if (at === 0n) {
          header = headerOf(chunk);
          if (header === 'sqlite') cut = DATABASE_CUT;
        }
        at += BigInt(chunk.length);
        for (const part of piecesOf(chunk, cut)) {
          const digest = digestOf(part);
          whole.update(part);
          chunks.push(digest);
          await take(digest, part);
        }
      }
    }
    const after = fstatSync(fd, { bigint: true });
    const same = before.isFile() && before.ino === expected.ino && before.dev === expected.dev && at === before.size;
    const steady = same && before.size === after.size && before.mtimeNs === after.mtimeNs && before.ctimeNs === after.ctimeNs;
    return { sha256: finishDigest(whole), chunks, size: at, header, steady };
  } finally {
    closeSync(fd);
  }
}

/**
 * Cuts what was read. The last piece of a file, which is shorter than CUT, is cut as its length is written in binary: what
 * grows at its end keeps all cuts but the last few, as a counter keeps all digits but the last few.
 */
function* piecesOf(bytes: Buffer, cut: number): Generator<Buffer> {
  if (cut !== CUT) for (let at = 0; at < bytes.length; at += cut) yield bytes.subarray(at, at + cut);
  else if (bytes.length === CUT || bytes.length <= 2 * LEAST_CUT) yield bytes;
  else {
    let at = 0;
    for (let size = CUT / 2; size >= LEAST_CUT; size /= 2) {
      if (bytes.length - at < size) continue;
      yield bytes.subarray(at, at + size);
      at += size;
    }
    if (at < bytes.length) yield bytes.subarray(at);
  }
}

function fill(fd: number, bytes: Buffer, from: bigint): Buffer {
  let got = 0;
  while (got < bytes.length) {
    const read = readSync(fd, bytes, got, bytes.length - got, from + BigInt(got));
    if (read === 0) break;
    got += read;
  }
  return bytes.subarray(0, got);
}
