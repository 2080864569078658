import { digestOf, type Digest } from '../core/digest.ts';
import { generateAgeKey, open, recipientOf, seal, sealWithPassphrase } from './age.ts';
import { envelopeFile, grantFile } from './layout.ts';
import type { StoreReader } from './reader.ts';

/** The public half of a store key. */
export interface StoreKey {
  readonly id: string;
  readonly recipient: string;
  /** Digest of the envelope that the ledger names last. */
  readonly envelope: Digest;
}

/** The id of a key: the beginning of the digest of its recipient. */
export function keyId(recipient: string): string {
  return digestOf(recipient).slice(0, 16);
}

/** A new store key. */
export async function generateStoreKey({ hybrid = false } = {}): Promise<{
  readonly id: string;
  readonly identity: string;
  readonly recipient: string;
}> {
  const { identity, recipient } = await generateAgeKey({ hybrid });
  return { id: keyId(recipient), identity, recipient };
}

/** Seals a store key to recipients: the envelope's bytes and their digest. */
export async function sealEnvelope(
  identity: string,
  recipients: readonly string[],
): Promise<{ readonly bytes: Buffer; readonly digest: Digest }> {
  const bytes = await seal([Buffer.from(`${identity}\n`)], [...new Set(recipients)]);
  return { bytes, digest: digestOf(bytes) };
}

/** A new age identity under a passphrase: its recipient, and the sealed bytes with their digest. */
export async function sealPassphrase(
  passphrase: string,
  { hybrid = false } = {},
): Promise<{ readonly recipient: string; readonly bytes: Buffer; readonly digest: Digest }> {
  const { identity, recipient } = await generateAgeKey({ hybrid });
  const bytes = await sealWithPassphrase(Buffer.from(`${identity}\n`), passphrase);
  return { recipient, bytes, digest: digestOf(bytes) };
}

/** Opens what `sealPassphrase` made; null where the passphrase is another. */
export async function openPassphrase(bytes: Buffer, passphrase: string): Promise<string | null> {
  const opened = await open(bytes, [], { passphrase });
  return 'refused' in opened ? null : opened.plaintext.toString('utf8').trim();
}

/** The identities of all store keys that one of the given identities opens, by id. Envelopes that do not open are left out. */
export async function openStoreKeys(
  reader: StoreReader,
  storeKeys: readonly StoreKey[],
  identities: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const opened = new Map<string, string>();
  if (identities.length === 0) return opened;
  const names = (await reader.list('keys')).map((file) => file.name);
  for (const key of storeKeys) {
    const grants = names.filter((name) => name.startsWith(`keys/${key.id}.`) && name !== envelopeFile(key.id));
    for (const name of [envelopeFile(key.id), ...grants]) {
      const bytes = await reader.read(name);
      if (
        bytes === null ||
        (name === envelopeFile(key.id) ? digestOf(bytes) !== key.envelope : name !== grantFile(key.id, digestOf(bytes)))
      )
        continue;
      const result = await open(bytes, identities);
      if ('refused' in result) continue;
      const identity = result.plaintext.toString('utf8').trim();
      // An envelope is not authenticated by itself; the recipient in the signed ledger is what it must fit.
      if ((await recipientOf(identity).catch(() => '')) !== key.recipient) continue;
      opened.set(key.id, identity);
      break;
    }
  }
  return opened;
}
