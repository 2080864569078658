import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

/** Plaintext bytes of one chunk of an age payload. */
const CHUNK = 64 * 1024;
const TAG = 16;
const NONCE = 16;

/** What a payload is sealed with: the header that comes before it, the key that the header wraps, and a nonce. */
export interface PayloadKey {
  readonly prefix: Uint8Array;
  readonly fileKey: Uint8Array;
  readonly nonce: Uint8Array;
}

/**
 * Encrypts a payload as age does: a nonce, then chunks of 64 KiB under ChaCha20-Poly1305. The last chunk is flagged and
 * is never empty unless it is the only one. `parts` are taken one after the other as the plaintext; `prefix` (the header)
 * comes before. All goes into one buffer, `room` where it is given, so that sealing a pack costs its size once. @see https://c2sp.org/age#payload
 */
export function sealPayload(parts: readonly Uint8Array[], { prefix, fileKey, nonce }: PayloadKey, room?: Buffer): Buffer {
  const key = payloadKey(fileKey, nonce);
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const chunks = Math.max(1, Math.ceil(size / CHUNK));
  const out = (room ?? Buffer.allocUnsafeSlow(sealedSize(size, prefix))).subarray(0, sealedSize(size, prefix));
  out.set(prefix, 0);
  out.set(nonce, prefix.length);
  let to = prefix.length + NONCE;
  let part = 0;
  let from = 0;
  for (let index = 0; index < chunks; index++) {
    const cipher = createCipheriv('chacha20-poly1305', key, chunkNonce(index, index === chunks - 1), { authTagLength: TAG });
    for (let left = Math.min(CHUNK, size - index * CHUNK); left > 0;) {
      const bytes = parts[part] ?? new Uint8Array();
      const piece = bytes.subarray(from, from + left);
      out.set(cipher.update(piece), to);
      to += piece.length;
      left -= piece.length;
      from += piece.length;
      if (from < bytes.length) continue;
      part++;
      from = 0;
    }
    cipher.final();
    out.set(cipher.getAuthTag(), to);
    to += TAG;
  }
  return out;
}

/** Bytes of a file whose plaintext has `size` bytes, behind a header. */
export function sealedSize(size: number, { length }: Pick<Uint8Array, 'length'>): number {
  return length + NONCE + size + Math.max(1, Math.ceil(size / CHUNK)) * TAG;
}

/**
 * Decrypts a whole payload (nonce and chunks) into a buffer that `room` makes; null where any tag does not fit, so that nothing
 * of it is ever released.
 */
export function openPayload(
  payload: Buffer,
  fileKey: Uint8Array,
  room: (size: number) => Buffer = (size) => Buffer.allocUnsafe(size),
): Buffer | null {
  if (payload.length < NONCE + TAG) return null;
  const key = payloadKey(fileKey, payload.subarray(0, NONCE));
  const sealed = payload.subarray(NONCE);
  const chunks = Math.ceil(sealed.length / (CHUNK + TAG));
  const size = sealed.length - chunks * TAG;
  if (size < 0 || (chunks > 1 && size <= (chunks - 1) * CHUNK)) return null;
  const out = room(size);
  for (let index = 0; index < chunks; index++) {
    const part = sealed.subarray(index * (CHUNK + TAG), (index + 1) * (CHUNK + TAG));
    const decipher = createDecipheriv('chacha20-poly1305', key, chunkNonce(index, index === chunks - 1), { authTagLength: TAG });
    decipher.setAuthTag(part.subarray(part.length - TAG));
    out.set(decipher.update(part.subarray(0, part.length - TAG)), index * CHUNK);
    try {
      decipher.final();
    } catch {
      return null;
    }
  }
  return out;
}

function payloadKey(fileKey: Uint8Array, nonce: Uint8Array): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', fileKey, nonce, 'payload', 32));
}

function chunkNonce(index: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeBigUInt64BE(BigInt(index), 3);
  nonce[11] = last ? 1 : 0;
  return nonce;
}
