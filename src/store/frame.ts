import { brotliCompress, brotliDecompressSync, constants } from 'node:zlib';
import { promisify } from 'node:util';
import { AgentError } from '../core/errors.ts';

/** First byte of a frame: how the rest is encoded. */
const CODEC = { stored: 0, brotli: 1 } as const;
/** No frame holds more plaintext than this, so that a hostile one cannot fill the memory. */
export const FRAME_LIMIT = 4 * 1024 * 1024;

const compress = promisify(brotliCompress);

/** Encodes chunks as one frame: brotli at quality 1, or stored where that is not smaller. Runs beside the main thread. */
export async function encodeFrame(plaintext: Buffer): Promise<Buffer> {
  const small = await compress(plaintext, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_SIZE_HINT]: plaintext.length },
  });
  return small.length < plaintext.length
    ? Buffer.concat([Buffer.from([CODEC.brotli]), small])
    : Buffer.concat([Buffer.from([CODEC.stored]), plaintext]);
}

/** Decodes a frame to exactly `raw` bytes; throws PACK_DAMAGED. */
export function decodeFrame(frame: Buffer, raw: number): Buffer {
  const body = frame.subarray(1);
  let out: Buffer | null = null;
  if (raw <= FRAME_LIMIT && frame[0] === CODEC.stored) out = body;
  if (raw <= FRAME_LIMIT && frame[0] === CODEC.brotli) {
    try {
      out = brotliDecompressSync(body, { maxOutputLength: Math.max(1, raw) });
    } catch (error) {
      throw new AgentError('PACK_DAMAGED', 'a frame of a pack does not decompress', { cause: error });
    }
  }
  if (out?.length !== raw) throw new AgentError('PACK_DAMAGED', 'a frame of a pack has the wrong length or an unknown codec');
  return out;
}
