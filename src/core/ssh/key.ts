import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Brand } from '../brand.ts';
import { WireReader, sshString, sshUint32 } from './wire.ts';

/** An Ed25519 public key as OpenSSH writes it, without comment: `ssh-ed25519 AAAA…`. */
export type PublicKey = Brand<string, 'PublicKey'>;

/** An Ed25519 key pair that can sign. */
export interface SigningKey {
  readonly publicKey: PublicKey;
  readonly secret: KeyObject;
}

const TYPE = 'ssh-ed25519';
const MAGIC = Buffer.from('openssh-key-v1\0');
const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----';
const END = '-----END OPENSSH PRIVATE KEY-----';
// PKCS #8 and SubjectPublicKeyInfo prefixes of a raw Ed25519 key, RFC 8410.
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** Makes a new key pair. */
export function generateSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI.length);
  return { publicKey: publicKeyFromRaw(raw), secret: privateKey };
}

/** Parses `ssh-ed25519 AAAA…` (a comment may follow); null where it is anything else. */
export function parsePublicKey(text: string): PublicKey | null {
  const [type, body] = text.trim().split(/\s+/);
  if (type !== TYPE || body === undefined) return null;
  return rawOf(`${type} ${body}`) === null ? null : (`${type} ${body}` as PublicKey);
}

/** The key object that verifies with a public key. */
export function verifierOf(key: PublicKey): KeyObject {
  const raw = rawOf(key) ?? Buffer.alloc(0);
  return createPublicKey({ key: Buffer.concat([SPKI, raw]), format: 'der', type: 'spki' });
}

/** The wire form of a public key, as it stands in signatures. */
export function publicKeyBlob(key: PublicKey): Buffer {
  return Buffer.from(key.slice(TYPE.length + 1), 'base64');
}

function publicKeyFromRaw(raw: Buffer): PublicKey {
  return `${TYPE} ${Buffer.concat([sshString(TYPE), sshString(raw)]).toString('base64')}` as PublicKey;
}

function rawOf(text: string): Buffer | null {
  const encoded = text.slice(TYPE.length + 1);
  const blob = Buffer.from(encoded, 'base64');
  if (blob.toString('base64') !== encoded) return null;
  const reader = new WireReader(blob);
  const type = reader.string();
  const raw = reader.string();
  return type?.toString() === TYPE && raw?.length === 32 && reader.done ? raw : null;
}

/** Writes the key as an unencrypted OpenSSH private key, which ssh-keygen reads. @see PROTOCOL.key of OpenSSH */
export function exportSigningKey(key: SigningKey, comment: string): string {
  const seed = key.secret.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8.length);
  const blob = publicKeyBlob(key.publicKey);
  const raw = blob.subarray(blob.length - 32);
  const check = sshUint32(blob.readUInt32BE(blob.length - 4));
  const inner = Buffer.concat([check, check, sshString(TYPE), sshString(raw), sshString(Buffer.concat([seed, raw])), sshString(comment)]);
  const padding = Buffer.from(Array.from({ length: (8 - (inner.length % 8)) % 8 }, (_, at) => at + 1));
  const whole = Buffer.concat([
    MAGIC,
    sshString('none'),
    sshString('none'),
    sshString(''),
    sshUint32(1),
    sshString(blob),
    sshString(Buffer.concat([inner, padding])),
  ]);
  return `${BEGIN}\n${whole
    .toString('base64')
    .replace(/(.{70})/g, '$1\n')
    .trimEnd()}\n${END}\n`;
}

/** Reads an unencrypted OpenSSH Ed25519 private key; what follows its end line is not looked at. Null where it is none. */
export function importSigningKey(text: string): SigningKey | null {
  const start = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (start !== 0 || end < 0) return null;
  const reader = new WireReader(Buffer.from(text.slice(BEGIN.length, end).replace(/\s/g, ''), 'base64'));
  if (reader.take(MAGIC.length)?.equals(MAGIC) !== true) return null;
  const cipher = reader.string()?.toString();
  reader.string();
  reader.string();
  const count = reader.uint32();
  const blob = reader.string();
  const secret = reader.string();
  if (cipher !== 'none' || count !== 1 || blob === null || secret === null) return null;
  const inner = new WireReader(secret);
  inner.take(8);
  const type = inner.string()?.toString();
  inner.string();
  const pair = inner.string();
  const publicKey = parsePublicKey(`${TYPE} ${blob.toString('base64')}`);
  if (type !== TYPE || pair?.length !== 64 || publicKey === null) return null;
  return { publicKey, secret: createPrivateKey({ key: Buffer.concat([PKCS8, pair.subarray(0, 32)]), format: 'der', type: 'pkcs8' }) };
}
