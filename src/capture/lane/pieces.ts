import { closeSync, constants, openSync } from 'node:fs';
import { fill } from '../../core/bytes.ts';
import type { FileHeader } from '../../profile/profile.ts';

/** What the first bytes of a file say. */
export type HeaderKind = FileHeader | undefined;

const SQLITE = Buffer.from('SQLite format 3\0');
const ZEROS = Buffer.alloc(SQLITE.length);
const APPLEDOUBLE = Buffer.from([0, 5, 0x16, 7]);
/** Fixed cuts: database pages change in place, everything else grows at its end or changes whole. */
export const DATABASE_CUT = 16 * 1024;
/** What is no database is cut so. */
export const CUT = 128 * 1024;
/** The end of a longer file is cut at powers of two from CUT / 2 down to this, so that appending stores little again. */
const LEAST_CUT = 8 * 1024;

/** Looks at the first bytes of a regular file without following a link. */
export function peekHeader(path: string | Buffer): HeaderKind {
  const fd = openPlain(path);
  try {
    return headerOf(fill(fd, Buffer.alloc(SQLITE.length), 0));
  } finally {
    closeSync(fd);
  }
}

/** Opens a file for reading: a link or FIFO that was put in its place is not followed and not waited for. */
export function openPlain(path: string | Uint8Array): number {
  const target = typeof path === 'string' ? path : Buffer.from(path);
  return openSync(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
}

/** What the first bytes of a file say of its kind. */
export function headerOf(bytes: Buffer): HeaderKind {
  if (bytes.subarray(0, SQLITE.length).equals(SQLITE)) return 'sqlite';
  if (bytes.subarray(0, ZEROS.length).equals(ZEROS)) return 'zeros';
  return bytes.subarray(0, APPLEDOUBLE.length).equals(APPLEDOUBLE) ? 'appledouble' : undefined;
}

/**
 * Cuts what was read, which begins at a multiple of the cut. The last piece of a file, which is shorter than CUT, is cut as
 * its length is written in binary: what grows at its end keeps all cuts but the last few, as a counter keeps all digits but
 * the last few.
 */
export function* piecesOf(bytes: Buffer, { cut, isLast }: { readonly cut: number; readonly isLast: boolean }): Generator<Buffer> {
  const even = isLast && cut === CUT ? bytes.length - (bytes.length % CUT) : bytes.length;
  let at = 0;
  for (; at < even; at += cut) yield bytes.subarray(at, Math.min(at + cut, even));
  if (bytes.length - at > 2 * LEAST_CUT)
    for (let size = CUT / 2; size >= LEAST_CUT; size /= 2) {
      if (bytes.length - at < size) continue;
      yield bytes.subarray(at, at + size);
      at += size;
    }
  if (at < bytes.length) yield bytes.subarray(at);
}
