import type { Digest } from '../core/digest.ts';

/** First and only line of `format`; read before anything else. */
export const FORMAT_LINE = 'perdure 1\n';

/** Names of the travelling files, relative to a control directory or a bundle. */
export const FORMAT_FILE = 'format';
/** The ledger. */
export const LEDGER_FILE = 'ledger.jsonl';
/** A script that checks a bundle with common tools; what it says counts as much as where it came from. */
export const SCRIPT_FILE = 'verify.sh';
/** A manifest. */
export const manifestFile = (digest: Digest): string => `manifests/${digest}.json`;
/** A page of packs. */
export const packListFile = (digest: Digest): string => `packlists/${digest}.json`;
/** A pack. */
export const packFile = (digest: Digest): string => `packs/${digest.slice(0, 2)}/${digest}.age`;
/** The envelope of a store key that the ledger names. */
export const envelopeFile = (storeKey: string): string => `keys/${storeKey}.age`;
/** An envelope that the ledger does not name; it carries its own digest. */
export const grantFile = (storeKey: string, digest: Digest): string => `keys/${storeKey}.${digest}.age`;

/** What a name in a bundle says that it is; null for a name that no bundle has. */
export function kindOfFile(name: string): 'format' | 'ledger' | 'manifest' | 'packlist' | 'pack' | 'envelope' | 'grant' | 'script' | null {
  if (name === FORMAT_FILE) return 'format';
  if (name === SCRIPT_FILE) return 'script';
  if (name === LEDGER_FILE) return 'ledger';
  if (/^manifests\/[0-9a-f]{64}\.json$/.test(name)) return 'manifest';
  if (/^packlists\/[0-9a-f]{64}\.json$/.test(name)) return 'packlist';
  const pack = /^packs\/([0-9a-f]{2})\/([0-9a-f]{64})\.age$/.exec(name);
  if (pack !== null) return pack[2]?.slice(0, 2) === pack[1] ? 'pack' : null;
  if (/^keys\/[0-9a-f]{16}\.age$/.test(name)) return 'envelope';
  return /^keys\/[0-9a-f]{16}\.[0-9a-f]{64}\.age$/.test(name) ? 'grant' : null;
}

/** The digest that a file's name promises for its bytes, or null where the name promises none. */
export function digestInName(name: string): Digest | null {
  return (/([0-9a-f]{64})\.(?:json|age)$/.exec(name)?.[1] ?? null) as Digest | null;
}

const MIB = 1024 * 1024;

/** No file of a store is larger than this; what claims to be is hostile or damaged, and is not read. */
export function sizeLimit(name: string): number {
  switch (kindOfFile(name)) {
    case 'pack':
      return 64 * MIB;
    case 'ledger':
      return 256 * MIB;
    case 'manifest':
    case 'packlist':
      return 64 * MIB;
    case 'format':
    case 'envelope':
    case 'grant':
    case 'script':
    case null:
      return MIB;
  }
}
