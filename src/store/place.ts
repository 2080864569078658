import { closeSync, constants, openSync } from 'node:fs';
import { fill } from '../core/bytes.ts';

/** Where the bytes of a file of a store lie, so that any thread can read them: a file of its own, or a part of an open one. */
export type BytesPlace =
  { readonly path: string; readonly size: number } | { readonly fd: number; readonly offset: number; readonly size: number };

/** Reads bytes from an offset on, into a buffer that `room` makes; fewer where there are no more. */
export function readBytes(
  place: BytesPlace,
  { offset, length }: { readonly offset: number; readonly length: number },
  room: (size: number) => Buffer = (size) => Buffer.allocUnsafeSlow(size),
): Buffer {
  const bytes = room(Math.max(0, Math.min(length, place.size - offset)));
  const { fd, start, close } = opened(place);
  try {
    return fill(fd, bytes, start + offset);
  } finally {
    close();
  }
}

/** The bytes, part by part, in one buffer that is used again. */
export function* partsOf(place: BytesPlace, part: Buffer): Generator<Buffer> {
  const { fd, start, close } = opened(place);
  try {
    for (let at = 0; at < place.size;) {
      const bytes = fill(fd, part.subarray(0, Math.min(part.length, place.size - at)), start + at);
      if (bytes.length === 0) return;
      yield bytes;
      at += bytes.length;
    }
  } finally {
    close();
  }
}

function opened(place: BytesPlace): { readonly fd: number; readonly start: number; readonly close: () => void } {
  if ('fd' in place) return { fd: place.fd, start: place.offset, close: () => undefined };
  const fd = openSync(place.path, constants.O_RDONLY | constants.O_NONBLOCK);
  return {
    fd,
    start: 0,
    close: () => {
      closeSync(fd);
    },
  };
}
