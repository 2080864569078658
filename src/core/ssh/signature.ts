import { createHash, sign, verify } from 'node:crypto';
import { parsePublicKey, publicKeyBlob, verifierOf, type PublicKey, type SigningKey } from './key.ts';
import { WireReader, sshString, sshUint32 } from './wire.ts';

const MAGIC = Buffer.from('SSHSIG');
const TYPE = 'ssh-ed25519';
const HASH = 'sha512';

/**
 * Signs a text as SSHSIG and returns the base64 of the blob, without armor. The same key, namespace and text give the
 * same signature, so that a repeated command writes the same bytes. @see PROTOCOL.sshsig of OpenSSH
 */
export function signText(text: string, { key, namespace }: { readonly key: SigningKey; readonly namespace: string }): string {
  const signature = sign(null, signedBytes(text, namespace), key.secret);
  return Buffer.concat([
    MAGIC,
    sshUint32(1),
    sshString(publicKeyBlob(key.publicKey)),
    sshString(namespace),
    sshString(''),
    sshString(HASH),
    sshString(Buffer.concat([sshString(TYPE), sshString(signature)])),
  ]).toString('base64');
}

/** Tells whether a base64 SSHSIG blob is this key's signature of the text in the namespace. Only the canonical encoding passes. */
export function verifyText(
  text: string,
  { key, namespace, signature }: { readonly key: PublicKey; readonly namespace: string; readonly signature: string },
): boolean {
  const blob = Buffer.from(signature, 'base64');
  if (blob.toString('base64') !== signature) return false;
  const reader = new WireReader(blob);
  const fields = [reader.take(6), reader.take(4), reader.string(), reader.string(), reader.string(), reader.string()];
  const expected = [MAGIC, sshUint32(1), publicKeyBlob(key), Buffer.from(namespace), Buffer.alloc(0), Buffer.from(HASH)];
  if (!expected.every((bytes, at) => fields[at]?.equals(bytes) === true)) return false;
  const inner = reader.string();
  if (inner === null || !reader.done) return false;
  const body = new WireReader(inner);
  const type = body.string();
  const raw = body.string();
  if (type?.toString() !== TYPE || raw?.length !== 64 || !body.done) return false;
  return verify(null, signedBytes(text, namespace), verifierOf(key), raw);
}

/** The Ed25519 key that a base64 SSHSIG blob says it is by; null where it names none. Whether it is, `verifyText` tells. */
export function signerOf(signature: string): PublicKey | null {
  const reader = new WireReader(Buffer.from(signature, 'base64'));
  reader.take(10);
  const blob = reader.string();
  return blob === null ? null : parsePublicKey(`${TYPE} ${blob.toString('base64')}`);
}

/** The base64 of the blob in an armored SSHSIG, as ssh-keygen writes it; null where it is none. */
export function unarmor(text: string): string | null {
  return /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)-----END SSH SIGNATURE-----\n?$/.exec(text)?.[1]?.replace(/\n/g, '') ?? null;
}

function signedBytes(text: string, namespace: string): Buffer {
  const hash = createHash(HASH).update(text, 'utf8').digest();
  return Buffer.concat([MAGIC, sshString(namespace), sshString(''), sshString(HASH), sshString(hash)]);
}
