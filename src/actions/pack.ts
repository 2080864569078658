import { randomBytes } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { explain } from '../core/system-error.ts';
import { chainText } from '../ledger/chain.ts';
import { readManifest } from '../manifest/manifest.ts';
import { sealEnvelope } from '../store/envelope.ts';
import { FORMAT_FILE, FORMAT_LINE, LEDGER_FILE, envelopeFile, grantFile, manifestFile, packFile, packListFile } from '../store/layout.ts';
import { storedFile, type StoredFile } from '../store/reader.ts';
import { writeTar, type TarFile } from '../store/tar.ts';
import { envelopeAt, packsOf } from './check-store.ts';
import { refuseForeign, targetOf } from './bundle-target.ts';
import { openState } from './open-state.ts';
import type { Ports } from './ports.ts';
import { isPassphraseFile } from './prune.ts';
import { findState, statesOf } from './revision.ts';
import { hostLabel } from './refusal.ts';
import { openSession, type Session } from './session.ts';

export interface PackOptions {
  readonly revision?: string | undefined;
  /** A `.tar` file, a directory, or `-` for `write`. */
  readonly output: string;
  readonly includeSecrets: boolean;
  readonly write: (bytes: Buffer) => Promise<void>;
}

export interface PackResult {
  readonly session: Session;
  readonly output: string;
  readonly bytes: number;
  readonly packs: number;
  /** Packs left out because the target of the open offer has them. */
  readonly leftOut: number;
  /** For whom secrets were sealed, or null. */
  readonly secretsFor: string | null;
}

interface Contents {
  /** In the order that lets a reader of a cut copy see an older state: the ledger last. */
  readonly names: readonly string[];
  readonly extra: ReadonlyMap<string, Buffer>;
  readonly leftOut: number;
  readonly secretsFor: string | null;
}

/** Writes a bundle: all that travels of an agent up to a state. Into a bundle directory it adds what is missing. */
export async function pack(ports: Ports, options: PackOptions): Promise<PackResult> {
  const session = await openSession(ports);
  const target = options.output === '-' ? null : await targetOf(session, options.output);
  const contents = await contentsOf(session, { ...options, isStream: target === null || !target.isDirectory });
  const write = (): Promise<number> => {
    if (target === null) return writeStream(session, contents, options.write);
    return target.isDirectory ? writeDirectory(session, contents, target.path) : writeFile(session, contents, target.path);
  };
  const { leftOut, secretsFor } = contents;
  const packs = contents.names.filter((name) => name.startsWith('packs/')).length;
  return { session, output: options.output, packs, leftOut, secretsFor, bytes: await write() };
}

async function contentsOf(
  session: Session,
  { revision, includeSecrets, isStream }: PackOptions & { readonly isStream: boolean },
): Promise<Contents> {
  const { reader, chain, state } = session;
  const read = (name: string): Promise<Buffer | null> => reader.read(name);
  const chosen = findState(session, revision);
  // A directory is a backup, too; only what goes straight to the target leaves out what the target has.
  const since = isStream ? state.offer?.since : undefined;
  const packNames = async (manifest: Digest): Promise<readonly Digest[]> =>
    (await packsOf(manifest, { read, ledger: state })).map((pack) => pack.digest);
  const had = new Set(since === undefined ? [] : await packNames(since));
  const all = await packNames(chosen.manifest);
  const packs = all.filter((digest) => !had.has(digest));
  const manifests: Digest[] = [];
  const lists = new Set<Digest>(state.folded);
  for (const one of statesOf(chain)) {
    if (one.seq > chosen.seq || manifests.includes(one.manifest)) continue;
    const manifest = await readManifest(read, one.manifest);
    if (manifest === null) continue;
    manifests.push(one.manifest);
    for (const digest of manifest.packlists) lists.add(digest);
  }
  const extra = new Map<string, Buffer>([
    [FORMAT_FILE, Buffer.from(FORMAT_LINE)],
    [LEDGER_FILE, Buffer.from(chainText(chain.records))],
  ]);
  const grants = includeSecrets ? await grantSecrets(session, chosen.manifest) : null;
  for (const [name, bytes] of grants?.files ?? []) extra.set(name, bytes);
  const envelopes: string[] = [];
  for (const { id, envelope } of Object.values(state.keys.storeKeys)) {
    const bytes = await envelopeAt(read, { id, envelope });
    if (bytes === null)
      throw new AgentError('BUNDLE_INCOMPLETE', `the envelope of store key ${id} is missing in '${reader.name}'`, {
        hints: [{ command: 'agent verify', effect: 'lists all that is missing' }],
      });
    // Into a directory under its digest first: the one in place belongs to the ledger that is there until the new one is.
    const name = isStream ? envelopeFile(id) : grantFile(id, envelope);
    envelopes.push(name);
    extra.set(name, bytes);
  }
  // Identities of readers under a passphrase.
  for (const { name } of await reader.list()) if (isPassphraseFile(name, state)) envelopes.push(name);
  const names = [
    FORMAT_FILE,
    ...packs.map(packFile),
    ...envelopes,
    ...(grants === null ? [] : grants.files.keys()),
    ...[...lists].map(packListFile),
    ...manifests.map(manifestFile),
    LEDGER_FILE,
  ];
  return { names, extra, leftOut: all.length - packs.length, secretsFor: grants?.target ?? null };
}

/** Seals the keys of secrets to the target of the open offer. */
async function grantSecrets(
  session: Session,
  manifest: Digest,
): Promise<{ readonly files: ReadonlyMap<string, Buffer>; readonly target: string }> {
  const { reader, state, host } = session;
  const target = host?.known.find((one) => one.key === state.offer?.target);
  if (host === null || state.offer === null || target === undefined)
    throw new AgentError('OFFER_MISSING', `secrets are sealed only to the target of an open offer, and '${session.name}' has none`, {
      hints: [
        {
          command: 'agent fence --to INVITE',
          effect: 'opens one; a bundle for yourself needs no flag: the recovery key opens its secrets',
        },
      ],
    });
  const { keys } = await openState({ readers: [reader], ledger: state, manifest, identities: [host.identity] });
  const files = new Map<string, Buffer>();
  for (const { id, use } of Object.values(state.keys.storeKeys)) {
    const identity = keys.get(id);
    if (use !== 'secret' || identity === undefined) continue;
    const { bytes, digest } = await sealEnvelope(identity, [
      target.recipient,
      host.recipient,
      ...state.recovery.map((one) => one.recipient),
    ]);
    files.set(grantFile(id, digest), bytes);
  }
  return { files, target: hostLabel(session, target.key) };
}

async function contentOf({ reader }: Session, contents: Contents, name: string): Promise<StoredFile> {
  const own = contents.extra.get(name);
  const file =
    own === undefined
      ? await reader.stream(name)
      : storedFile(own.length, ({ offset, length }) => Promise.resolve(own.subarray(offset, offset + length)));
  if (file === null)
    throw new AgentError('BUNDLE_INCOMPLETE', `'${name}' is missing in '${reader.name}'`, {
      hints: [{ command: 'agent verify', effect: 'lists all that is missing' }],
    });
  return file;
}

async function writeStream(session: Session, contents: Contents, write: (bytes: Buffer) => Promise<void>): Promise<number> {
  const files = async function* (): AsyncGenerator<TarFile> {
    for (const name of contents.names) yield { name, content: await contentOf(session, contents, name) };
  };
  let total = 0;
  for await (const bytes of writeTar(files())) {
    total += bytes.length;
    await write(bytes);
    session.ports.progress({ phase: 'pack', bytes: BigInt(total) });
  }
  return total;
}

async function writeFile(session: Session, contents: Contents, target: string): Promise<number> {
  const temporary = `${target}.${randomBytes(4).toString('hex')}.tmp`;
  const handle = await open(temporary, 'wx', 0o600).catch((error: unknown) => {
    throw explain(error, target);
  });
  try {
    const total = await writeStream(session, contents, async (bytes) => {
      await handle.writeFile(bytes);
    });
    await handle.sync();
    await rename(temporary, target);
    await session.ports.files.syncDirectory(dirname(target));
    return total;
  } catch (error) {
    await rm(temporary, { force: true });
    throw explain(error, target);
  } finally {
    await handle.close();
  }
}

async function writeDirectory(session: Session, contents: Contents, target: string): Promise<number> {
  const { files } = session.ports;
  await refuseForeign(session, target);
  let total = 0;
  for (const name of contents.names) {
    const path = join(target, name);
    // Named by their content, these cannot change; the others are replaced whole.
    const named = /^(packs|packlists|manifests)\//.test(name);
    if (named && (await files.exists(path))) continue;
    const settled = /^(keys\/[0-9a-f]{16})\.([0-9a-f]{64})\.age$/.exec(name);
    if (settled !== null && (await digestAt(files, join(target, `${settled[1] ?? ''}.age`))) === settled[2]) continue;
    const file = await contentOf(session, contents, name);
    await files.replace(path, file.parts());
    total += file.size;
    session.ports.progress({ phase: 'pack', bytes: BigInt(total) });
  }
  for (const { id, envelope } of Object.values(session.state.keys.storeKeys)) {
    const fresh = join(target, grantFile(id, envelope));
    if (await files.exists(fresh)) await files.rename(fresh, join(target, envelopeFile(id)));
  }
  return total;
}

async function digestAt(files: Files, path: string): Promise<Digest | null> {
  const bytes = await files.readIfPresent(path);
  return bytes === null ? null : digestOf(bytes);
}
