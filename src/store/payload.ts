import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';

/** Plaintext bytes of one chunk of an age payload. */
const CHUNK = 64 * 1024;
const TAG = 16;
const NONCE = 16;

/**
 * Encrypts a payload as age does: a nonce, then chunks of 64 KiB under ChaCha20-Poly1305. The last chunk is flagged and
 * is never empty unless it is the only one. @see https://c2sp.org/age#payload
 */
export function sealPayload(
  plaintext: Uint8Array,
  { fileKey, nonce }: { readonly fileKey: Uint8Array; readonly nonce: Uint8Array },
): Buffer {
  const key = payloadKey(fileKey, nonce);
  const chunks = Math.max(1, Math.ceil(plaintext.length / CHUNK));
  const out = Buffer.allocUnsafe(NONCE + plaintext.length + chunks * TAG);
  out.set(nonce, 0);
  let to = NONCE;
  for (let index = 0; index < chunks; index++) {
    const part = plaintext.subarray(index * CHUNK, (index + 1) * CHUNK);
    const cipher = createCipheriv('chacha20-poly1305', key, chunkNonce(index, index === chunks - 1), { authTagLength: TAG });
    out.set(cipher.update(part), to);
    to += part.length;
    cipher.final();
    out.set(cipher.getAuthTag(), to);
    to += TAG;
  }
  return out;
}

/** Decrypts a whole payload (nonce and chunks); null where any tag does not fit, so that nothing of it is ever released. */
export function openPayload(payload: Buffer, fileKey: Uint8Array): Buffer | null {
  if (payload.length < NONCE + TAG) return null;
  const key = payloadKey(fileKey, payload.subarray(0, NONCE));
  const sealed = payload.subarray(NONCE);
  const chunks = Math.ceil(sealed.length / (CHUNK + TAG));
  const size = sealed.length - chunks * TAG;
  if (size < 0 || (chunks > 1 && size <= (chunks - 1) * CHUNK)) return null;
  const out = Buffer.allocUnsafe(size);
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
