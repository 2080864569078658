import { AgentError } from '../core/errors.ts';
import type * as Age from 'age-encryption';
import { openPayload, sealPayload, type PayloadKey } from './payload.ts';

/** A header longer than this, or with more stanzas, is refused before it is parsed. */
export const HEADER_LIMIT = 64 * 1024;
/** A file is sealed to at most so many: what has more stanzas no reader opens. */
export const RECIPIENT_LIMIT = 64;
/** The same for hybrid recipients, whose stanzas are long. */
export const HYBRID_LIMIT = 36;

/** Loads the age library, which writes and reads headers; the payload is node:crypto's. */
const library = (): Promise<typeof Age> => import('age-encryption');

/** Makes an age identity (X25519, or with `hybrid` ML-KEM-768 and X25519) and the recipient that belongs to it. */
export async function generateAgeKey({ hybrid = false } = {}): Promise<{ readonly identity: string; readonly recipient: string }> {
  const age = await library();
  const identity = await (hybrid ? age.generateHybridIdentity() : age.generateX25519Identity());
  return { identity, recipient: await age.identityToRecipient(identity) };
}

/** The recipient of an identity. */
export async function recipientOf(identity: string): Promise<string> {
  return (await library()).identityToRecipient(identity);
}

/** Whether a text is a recipient that age seals to. */
export async function isRecipient(text: string): Promise<boolean> {
  const age = await library();
  try {
    new age.Encrypter().addRecipient(text);
    return text.startsWith('age1');
  } catch {
    return false;
  }
}

/** Whether a text is an identity. */
export async function isIdentity(text: string): Promise<boolean> {
  return (await library()).identityToRecipient(text).then(
    () => true,
    () => false,
  );
}

/** log2 of the work of a passphrase: about a third of a GiB of memory and a second. Readers accept at most 18. */
const WORK_FACTOR = 16;

/** Seals bytes with a passphrase, which must stand alone. */
export async function sealWithPassphrase(bytes: Uint8Array, passphrase: string): Promise<Buffer> {
  const age = await library();
  const encrypter = new age.Encrypter();
  encrypter.setScryptWorkFactor(WORK_FACTOR);
  encrypter.setPassphrase(passphrase);
  return Buffer.from(await encrypter.encrypt(bytes));
}

/** Seals the parts, one after the other, as one standard age file to the recipients. */
export async function seal(parts: readonly Uint8Array[], recipients: readonly string[]): Promise<Buffer> {
  return sealPayload(parts, await newHeader(recipients));
}

/** The header of a new age file to the recipients, with the key and the nonce that its payload is to be sealed with. */
export async function newHeader(recipients: readonly string[]): Promise<PayloadKey> {
  if (recipients.length > RECIPIENT_LIMIT) throw new AgentError('INTERNAL', 'more recipients than a reader of the file accepts');
  const age = await library();
  const encrypter = new age.Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  let fileKey = new Uint8Array();
  // A recipient of our own that adds no stanza: it sees the file key of the header that the library makes.
  encrypter.addRecipient({ wrapFileKey: (key) => ((fileKey = Uint8Array.from(key)), []) });
  const empty = await bytesOf(await encrypter.encrypt(noBytes()));
  const prefix = empty.slice(0, headerLength(empty) ?? 0);
  return { prefix, fileKey, nonce: empty.slice(prefix.length, prefix.length + 16) };
}

/** A stream without bytes: given bytes, the library would load an HTTP client to collect what comes out. */
function noBytes(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.close();
    },
  });
}

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

/** What `open` found: the plaintext, or that no identity fits, or that the file is damaged. */
export type Opened = { readonly plaintext: Buffer } | { readonly refused: 'no-key' | 'damaged' };

/**
 * Opens an age file with the first identity that fits, or with a passphrase (only where one is asked for: it costs much
 * memory and time). Nothing is released before the tag of the whole file has passed.
 */
export async function open(file: Buffer, identities: readonly string[], options: { readonly passphrase?: string } = {}): Promise<Opened> {
  const header = await openHeader(file, identities, options);
  if ('refused' in header) return header;
  const plaintext = openPayload(file.subarray(header.length), header.fileKey);
  return plaintext === null ? { refused: 'damaged' } : { plaintext };
}

/** What `openHeader` found: the length of the header and the key of what follows, or why not. */
export type OpenedHeader = { readonly length: number; readonly fileKey: Uint8Array } | { readonly refused: 'no-key' | 'damaged' };

/** Opens the header of an age file, of which at least the first 64 KiB are given. */
export async function openHeader(
  file: Uint8Array,
  identities: readonly string[],
  options: { readonly passphrase?: string } = {},
): Promise<OpenedHeader> {
  const length = headerLength(file);
  if (length === null) return { refused: 'damaged' };
  const header = file.subarray(0, length);
  if (stanzaCount(header) > RECIPIENT_LIMIT) return { refused: 'damaged' };
  const age = await library();
  const decrypter = new age.Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  if (options.passphrase !== undefined) decrypter.addPassphrase(options.passphrase);
  try {
    return { length, fileKey: await decrypter.decryptHeader(header) };
  } catch (error) {
    const unfit = error instanceof Error && error.message.startsWith('no identity matched');
    return { refused: unfit ? 'no-key' : 'damaged' };
  }
}

/** Bytes of the header with its MAC line, or null where there is no end within the limit. */
function headerLength(file: Uint8Array): number | null {
  const text = Buffer.from(file.buffer, file.byteOffset, Math.min(file.length, HEADER_LIMIT)).toString('latin1');
  const mac = text.indexOf('\n--- ');
  const end = mac < 0 ? -1 : text.indexOf('\n', mac + 1);
  return end < 0 ? null : end + 1;
}

function stanzaCount(header: Uint8Array): number {
  return Buffer.from(header).toString('latin1').split('\n-> ').length - 1;
}
