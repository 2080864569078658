import { canonical, parseJson, type Json } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { manifestValid } from '../core/generated/validators.js';
import { manifestFile } from '../store/layout.ts';

/** Names one state of an agent. Everything that it names is sealed or a list of sealed things. */
export interface Manifest {
  readonly format: 'perdure-manifest/1';
  readonly agent: Digest;
  /** The pack whose top chunk is the facts. */
  readonly facts: Digest;
  /** The pack whose top chunk is the sheet of secrets, where there are any. */
  readonly secrets?: Digest;
  readonly packlists: readonly Digest[];
  /** Ids of the store keys that open its packs. */
  readonly storeKeys: readonly string[];
}

/** Writes a manifest: its text and the digest that names it. */
export function encodeManifest(manifest: Manifest): { readonly text: string; readonly digest: Digest } {
  const text = canonical(manifest as unknown as Json);
  return { text, digest: digestOf(text) };
}

/** Reads a manifest; null where it is not there. Throws MANIFEST_DAMAGED or FORMAT_UNSUPPORTED. */
export async function readManifest(read: (name: string) => Promise<Buffer | null>, digest: Digest): Promise<Manifest | null> {
  const bytes = await read(manifestFile(digest));
  if (bytes === null) return null;
  if (digestOf(bytes) !== digest) throw new AgentError('MANIFEST_DAMAGED', `manifest ${digest.slice(0, 12)} is not what its name says`);
  const value = parseJson(bytes.toString('utf8'));
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
  if (typeof format === 'string' && format.startsWith('perdure-manifest/') && format !== 'perdure-manifest/1')
    throw new AgentError('FORMAT_UNSUPPORTED', `manifest ${digest.slice(0, 12)} is in '${format}'; this program reads perdure-manifest/1`);
  if (!manifestValid(value)) throw new AgentError('MANIFEST_DAMAGED', `manifest ${digest.slice(0, 12)} is not valid`);
  return value as Manifest;
}
