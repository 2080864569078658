import { createHash, type Hash } from 'node:crypto';
import type { Brand } from './brand.ts';

/** SHA-256 as 64 lower-case hexadecimal digits, without a prefix. */
export type Digest = Brand<string, 'Digest'>;

/** The digest of bytes, or of a text as UTF-8. */
export function digestOf(bytes: Uint8Array | string): Digest {
  return createHash('sha256').update(bytes).digest('hex') as Digest;
}

/** Ends a running SHA-256 as a digest. */
export function finishDigest(hash: Hash): Digest {
  return hash.digest('hex') as Digest;
}
