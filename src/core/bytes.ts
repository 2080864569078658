import { readSync, writeSync } from 'node:fs';

/** Reads from a place in a file until the buffer is full or the file ends; gives what was read. */
export function fill(fd: number, bytes: Buffer, from: number): Buffer {
  let got = 0;
  while (got < bytes.length) {
    const read = readSync(fd, bytes, got, bytes.length - got, from + got);
    if (read === 0) break;
    got += read;
  }
  return bytes.subarray(0, got);
}

/** Writes all bytes at a place of a file, or where it stands. */
export function writeAll(fd: number, bytes: Uint8Array, at?: number): void {
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, at === undefined ? null : at + done);
}
