import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { AgentError } from '../../core/errors.ts';
import type { Job } from '../../core/threads/job.ts';

/** First byte of a frame: how the rest is encoded. */
const CODEC = { stored: 0, brotli: 1 } as const;
/** No frame holds more plaintext than this, so that a hostile one cannot fill the memory. */
export const FRAME_LIMIT = 4 * 1024 * 1024;

/** Encodes chunks as one frame: brotli at quality 1, or stored where that is not smaller. The frame has a buffer of its own. */
export function encodeFrame(plaintext: Uint8Array): Uint8Array<ArrayBuffer> {
  const small = brotliCompressSync(plaintext, {
    // zlib would otherwise come back for each 16 KiB; what is larger than text comes to is garbage.
    chunkSize: Math.max(1024, plaintext.length >> 1),
    params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_SIZE_HINT]: plaintext.length },
  });
  const isSmaller = small.length < plaintext.length;
  const body = isSmaller ? small : plaintext;
  const frame = new Uint8Array(1 + body.length);
  frame[0] = isSmaller ? CODEC.brotli : CODEC.stored;
  frame.set(body, 1);
  return frame;
}

/** `encodeFrame` on any thread. */
export const ENCODE_FRAME: Job<Uint8Array, Uint8Array<ArrayBuffer>> = {
  name: 'store/encode-frame',
  run: encodeFrame,
  gives: (frame) => [frame.buffer],
};

/** Decodes a frame to exactly `raw` bytes; throws PACK_DAMAGED. */
export function decodeFrame(frame: Uint8Array, raw: number): Buffer {
  const body = frame.subarray(1);
  let out: Buffer | null = null;
  if (raw <= FRAME_LIMIT && frame[0] === CODEC.stored) out = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (raw <= FRAME_LIMIT && frame[0] === CODEC.brotli) {
    try {
      out = brotliDecompressSync(body, { chunkSize: Math.max(1024, raw), maxOutputLength: Math.max(1, raw) });
    } catch (error) {
      throw new AgentError('PACK_DAMAGED', 'a frame of a pack does not decompress', { cause: error });
    }
  }
  if (out?.length !== raw) throw new AgentError('PACK_DAMAGED', 'a frame of a pack has the wrong length or an unknown codec');
  return out;
}
