import { join } from 'node:path';
import type { Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import type { Files } from '../../core/files.ts';
import type { Threads } from '../../core/threads/job.ts';
import type { LedgerState } from '../../ledger/state.ts';
import { decodeFacts, readSecrets, type Facts, type SecretSheet } from '../../manifest/facts.ts';
import { readManifest, type Manifest } from '../../manifest/manifest.ts';
import type { TreeSide } from '../../manifest/compare.ts';
import { ChunkIndex } from '../../store/packs/chunk-index.ts';
import { openStoreKeys } from '../../store/envelope.ts';
import { Folds } from '../../store/packs/folds.ts';
import { ObjectSource } from '../../store/packs/objects.ts';
import { readPackList, type PackEntry, type PackListPage } from '../../store/packs/packlist.ts';
import { locateIn, readFrom, type StoreReader } from '../../store/reader.ts';

/** The two kinds of packs, which have keys and indexes of their own. */
export type Use = 'main' | 'secret';

/** One state of an agent, opened with a key. */
export interface OpenState {
  readonly manifest: Manifest;
  readonly digest: Digest;
  readonly facts: Facts;
  /** Its packs as it was recorded: some may have been folded since. */
  readonly pages: readonly PackListPage[];
  /** Its packs, where they lie now. */
  readonly packs: readonly PackEntry[];
  readonly objects: Readonly<Record<Use, ObjectSource>>;
  /** Identities of the store keys that opened. */
  readonly keys: ReadonlyMap<string, string>;
  /** What the secret files hold; null where there are none or no key opens them. */
  readonly sheet: SecretSheet | null;
  /** Whether there are secrets that no key at hand opens. */
  readonly secretsSealed: boolean;
}

interface OpenOptions {
  readonly readers: readonly StoreReader[];
  readonly ledger: LedgerState;
  readonly manifest: Digest;
  readonly identities: readonly string[];
  readonly threads: Threads;
  /** The caches of chunk indexes, where the store is this host's own. */
  readonly cache?: { readonly files: Files; readonly control: string };
}

/** Path of the cache of a chunk index. */
export function chunkCachePath(control: string, use: Use): string {
  return join(control, 'local', 'index', `chunks-${use}`);
}

/** Path of the index of the tree as the last checkpoint read it. */
export function scanIndexPath(control: string): string {
  return join(control, 'local', 'index', 'files');
}

/** Opens a state; throws KEY_UNFIT where no identity fits, BUNDLE_INCOMPLETE where the manifest is not there. */
export async function openState(options: OpenOptions): Promise<OpenState> {
  const { readers, ledger, identities } = options;
  const read = readFrom(readers);
  const manifest = await readManifest(read, options.manifest);
  if (manifest === null) throw new AgentError('BUNDLE_INCOMPLETE', `manifest ${options.manifest.slice(0, 12)} is missing`);
  const keys = new Map<string, string>();
  for (const reader of readers)
    for (const [id, identity] of await openStoreKeys(reader, Object.values(ledger.keys.storeKeys), identities)) keys.set(id, identity);
  const pages = await Promise.all(manifest.packlists.map((digest) => readPackList(read, digest)));
  const folds = await Folds.read(read, ledger.folded);
  const packs = folds.resolve(pages.flatMap((page) => page.packs));
  const opens = (entrance: Digest): boolean =>
    (folds.of(entrance) ?? packs.filter((pack) => pack.digest === entrance)).some((pack) => keys.has(pack.key));
  if (!opens(manifest.facts)) throw unfit(readers[0]?.name ?? 'the bundle');
  const source = async (use: Use): Promise<ObjectSource> => {
    const own = packs.filter((pack) => ledger.keys.storeKeys[pack.key]?.use === use);
    const cache = options.cache;
    const index =
      cache === undefined
        ? new ChunkIndex()
        : await ChunkIndex.load(cache.files, chunkCachePath(cache.control, use), new Set(own.map((pack) => pack.digest)));
    return new ObjectSource({ locate: locateIn(readers), threads: options.threads, keys, packs: own, index, folds });
  };
  const objects = { main: await source('main'), secret: await source('secret') };
  const facts = decodeFacts(await objects.main.top(manifest.facts));
  const sealed = manifest.secrets !== undefined && !opens(manifest.secrets);
  const sheet = manifest.secrets === undefined || sealed ? null : await openSheet(objects.secret, manifest.secrets);
  return { manifest, digest: options.manifest, facts, pages, packs, objects, keys, sheet, secretsSealed: sealed };
}

async function openSheet(secret: ObjectSource, pack: Digest): Promise<SecretSheet> {
  const top = await secret.top(pack);
  // The pages lie in the packs of secrets, which are few and small.
  await secret.learn();
  return readSecrets(top, (digest) => secret.chunk(digest));
}

/** The tree of a state's main root, ready to be compared. */
export function sideOf(state: Pick<OpenState, 'facts' | 'objects'>): TreeSide {
  return { pages: mainRoot(state.facts).pages, get: (digest) => state.objects.main.chunk(digest) };
}

/** The root that holds the control directory. */
export function mainRoot(facts: Facts): Facts['roots'][number] {
  const root = facts.roots.find((one) => one.name === 'main');
  if (root === undefined) throw new AgentError('MANIFEST_DAMAGED', "a state has no root 'main'");
  return root;
}

function unfit(name: string): AgentError {
  return new AgentError('KEY_UNFIT', `no key of this host opens '${name}'`, {
    hints: [
      {
        command: 'agent invite',
        effect: 'prints an invite of this host; `agent fence --to` where the agent is held seals it to this host',
      },
    ],
  });
}
