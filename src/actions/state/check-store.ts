import { digestOf, type Digest } from '../../core/digest.ts';
import { AgentError, isAgentError } from '../../core/errors.ts';
import type { Threads } from '../../core/threads/job.ts';
import { byCodeUnit } from '../../core/order.ts';
import type { Chain } from '../../ledger/chain.ts';
import type { LedgerState } from '../../ledger/state.ts';
import type { Finding } from '../../manifest/facts.ts';
import { chunksOf, walkTree } from '../../manifest/tree.ts';
import { readManifest, type Manifest } from '../../manifest/manifest.ts';
import { sizeLimit, digestInName, envelopeFile, grantFile, kindOfFile, packFile, packListFile } from '../../store/layout.ts';
import { DIGEST_FILE } from '../../store/packs/pack-jobs.ts';
import { readPackList, type PackEntry } from '../../store/packs/packlist.ts';
import { readFrom, type StoreReader } from '../../store/reader.ts';
import { Folds } from '../../store/packs/folds.ts';
import { openState, type OpenState } from './open-state.ts';
import { statesOf, type StateName } from './revision.ts';

/** What a check of sealed bytes found. */
export interface StoreCheck {
  readonly findings: readonly Finding[];
  /** The newest checkpoint whose manifest and packs are all there. */
  readonly newest: StateName | null;
  readonly packs: number;
  readonly bytes: number;
  /** Packs that belong to a state which the target of an open offer has. */
  readonly baseNeeded: boolean;
}

/**
 * Checks all that can be checked without a key: every file is what its name says, envelopes are those that the ledger
 * names, and the newest checkpoint is found whose manifest and packs are all there. `bases` are further places to look.
 */
export async function checkSealed(
  reader: StoreReader,
  chain: Pick<Chain, 'records' | 'state'>,
  { bases = [], threads }: { readonly bases?: readonly StoreReader[]; readonly threads: Threads },
): Promise<StoreCheck> {
  const findings: Finding[] = [];
  const read = readFrom([reader, ...bases]);
  const named: Named[] = [];
  let packs = 0;
  let bytes = 0;
  for (const { name, size } of await reader.list()) {
    const kind = kindOfFile(name);
    bytes += size;
    if (kind === null) findings.push({ code: 'BUNDLE_DAMAGED', subject: `'${name}' is no file of an agent` });
    if (kind === 'pack') packs++;
    const promised = digestInName(name);
    if (size > sizeLimit(name)) findings.push({ code: 'BUNDLE_DAMAGED', subject: `'${name}' is larger than any such file is` });
    if (promised !== null && size <= sizeLimit(name)) named.push({ name, promised });
  }
  findings.push(...(await notAsNamed(reader, named, threads)));
  for (const { id, envelope } of Object.values(chain.state.keys.storeKeys)) {
    if ((await envelopeAt(read, { id, envelope })) === null)
      findings.push({
        code: 'BUNDLE_DAMAGED',
        subject: `the envelope of store key ${id} that the ledger names is not there`,
        next: 'copy it again from where it came',
      });
  }
  const sizes = new Map<string, number>();
  for (const one of [reader, ...bases]) for (const { name, size } of await one.list()) if (!sizes.has(name)) sizes.set(name, size);
  const newest = await newestComplete(chain, { read, sizes }, findings);
  return { findings, newest: newest.state, packs, bytes, baseNeeded: newest.baseNeeded };
}

/** A file with the digest that its name promises. */
interface Named {
  readonly name: string;
  readonly promised: Digest;
}

/** Digests that are asked for ahead of the one that is looked at. */
const AHEAD = 16;

/** Reads all bytes of files that are named by their digest, on every thread. */
async function notAsNamed(reader: StoreReader, named: readonly Named[], threads: Threads): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (let at = 0; at < named.length; at += AHEAD)
    await Promise.all(
      named.slice(at, at + AHEAD).map(async ({ name, promised }) => {
        const place = await reader.locate(name);
        if (place === null || (await threads.run(DIGEST_FILE, place, { cost: place.size })) === promised) return;
        const code = kindOfFile(name) === 'pack' ? 'PACK_DAMAGED' : 'BUNDLE_DAMAGED';
        findings.push({ code, subject: `'${name}' is not what its name says` });
      }),
    );
  return findings.sort((a, b) => byCodeUnit(a.subject, b.subject));
}

/** The files that are at hand: their bytes and their sizes. */
interface AtHand {
  readonly read: (name: string) => Promise<Buffer | null>;
  readonly sizes: ReadonlyMap<string, number>;
}

async function newestComplete(
  chain: Pick<Chain, 'records' | 'state'>,
  files: AtHand,
  findings: Finding[],
): Promise<{ readonly state: StoreCheck['newest']; readonly baseNeeded: boolean }> {
  const states = [...statesOf(chain)];
  let skipped = 0;
  for (const state of states.reverse()) {
    const missing = await missingOf(state.manifest, { files, findings, ledger: chain.state });
    if (missing.length === 0) {
      if (skipped > 0)
        findings.push({
          code: 'BUNDLE_INCOMPLETE',
          subject: `${String(skipped)} newer checkpoint${skipped === 1 ? '' : 's'} than record ${String(state.seq)} did not arrive whole`,
          next: 'copy it again, then agent verify',
        });
      return { state, baseNeeded: false };
    }
    const since = chain.state.offer?.since;
    if (skipped === 0 && since !== undefined && missing !== 'manifest') {
      const base = new Set((await recordedPacks(since, files.read).catch(() => [])).map((pack) => pack.digest));
      if (missing.every((digest) => base.has(digest))) {
        findings.push({
          code: 'BASE_NEEDED',
          subject: `it builds on state ${since.slice(0, 12)}, which the target has`,
          next: 'agent verify BUNDLE on the target',
        });
        return { state, baseNeeded: true };
      }
    }
    skipped++;
  }
  if (states.length > 0)
    findings.push({
      code: 'BUNDLE_DAMAGED',
      subject: 'no checkpoint of the ledger is there whole',
      next: 'copy it again from where it came',
    });
  return { state: null, baseNeeded: false };
}

/** What is not there of a state: pack digests, or the word that its manifest or lists are not. */
async function missingOf(
  digest: Digest,
  { files, findings, ledger }: { readonly files: AtHand; readonly findings: Finding[]; readonly ledger: LedgerState },
): Promise<readonly Digest[] | 'manifest'> {
  const { read, sizes } = files;
  let manifest: Manifest | null;
  let entries: readonly PackEntry[];
  try {
    manifest = await readManifest(read, digest);
    if (manifest === null) return 'manifest';
    if (manifest.agent !== ledger.agent) throw new AgentError('MANIFEST_DAMAGED', `manifest ${digest.slice(0, 12)} is of another agent`);
    for (const page of [...manifest.packlists, ...ledger.folded]) if (!sizes.has(packListFile(page))) return 'manifest';
    entries = await packsOf(digest, { read, ledger });
  } catch (error) {
    if (!isAgentError(error)) throw error;
    findings.push({ code: error.code, subject: error.message });
    return 'manifest';
  }
  // A pack of another size is one that was cut.
  return entries.filter((entry) => sizes.get(packFile(entry.digest)) !== entry.size).map((entry) => entry.digest);
}

/** The bytes of the envelope that the ledger names, in its place or under its digest; null where it is in neither. */
export async function envelopeAt(
  read: AtHand['read'],
  { id, envelope }: { readonly id: string; readonly envelope: Digest },
): Promise<Buffer | null> {
  for (const name of [envelopeFile(id), grantFile(id, envelope)]) {
    const bytes = await read(name);
    if (bytes !== null && digestOf(bytes) === envelope) return bytes;
  }
  return null;
}

/** The packs that a state was recorded with, wherever they lie now: what a host that has the state has. */
export async function recordedPacks(manifest: Digest, read: AtHand['read']): Promise<readonly PackEntry[]> {
  const found = await readManifest(read, manifest);
  if (found === null) return [];
  const pages = await Promise.all(found.packlists.map((page) => readPackList(read, page)));
  return pages.flatMap((page) => page.packs);
}

/** The packs of a state, where they lie now; none where its manifest is not there. */
export async function packsOf(
  manifest: Digest,
  { read, ledger }: { readonly read: AtHand['read']; readonly ledger: Pick<LedgerState, 'folded'> },
): Promise<readonly PackEntry[]> {
  return (await Folds.read(read, ledger.folded)).resolve(await recordedPacks(manifest, read));
}

/**
 * Opens a state and checks all of it: every pack that a key opens, every chunk, and that each chunk which the tree names
 * is there. Throws where something does not fit.
 */
export async function checkOpened(
  options: Parameters<typeof openState>[0],
  onPack: (size: number) => void = () => undefined,
): Promise<OpenState> {
  const state = await openLearned(options, { deep: true, onPack });
  const { main } = state.objects;
  const get = (digest: Digest): Promise<Buffer> => main.chunk(digest);
  for (const { pages } of state.facts.roots)
    for await (const { path, entry } of walkTree(pages, get, { limit: pathLimit(state) })) {
      if (entry.type !== 'file' || entry.sha256 === undefined) continue;
      for await (const digest of chunksOf(entry, get))
        if (!main.index.has(digest)) throw new AgentError('BUNDLE_INCOMPLETE', `a part of '${path}' is in no pack`);
    }
  return state;
}

/** Most paths that the tree of a state may have. */
export function pathLimit({ facts }: OpenState): number {
  return facts.coverage.walked + 1;
}

/** Opens a state and learns where each of its chunks lies, all of them checked where it is `deep`; throws where a secret lacks one. */
export async function openLearned(
  options: Parameters<typeof openState>[0],
  { deep, onPack = () => undefined }: { readonly deep: boolean; readonly onPack?: (size: number) => void },
): Promise<OpenState> {
  const state = await openState(options);
  for (const use of ['main', 'secret'] as const)
    await state.objects[use].learn({
      deep,
      onPack: (entry) => {
        onPack(entry.size);
      },
    });
  const { secret } = state.objects;
  for (const file of state.sheet?.files ?? [])
    for await (const digest of chunksOf(file, (list) => secret.chunk(list)))
      if (!secret.index.has(digest)) throw new AgentError('BUNDLE_INCOMPLETE', 'a part of a secret is in no pack');
  return state;
}
