import { join } from 'node:path';
import type { DatabaseCopies } from '../capture/databases/copies.ts';
import { writersOf } from '../capture/quiet.ts';
import { scan, type ScanResult } from '../capture/scan.ts';
import { ScanIndexReader, ScanIndexWriter } from '../capture/index/scan-index.ts';
import type { Digest } from '../core/digest.ts';
import { AgentError, isAgentError } from '../core/errors.ts';
import { DECLARATIONS, type Declaration } from '../ledger/record.ts';
import type { LedgerState } from '../ledger/state.ts';
import { encodeFacts, writeSecrets, type Facts, type Finding } from '../manifest/facts.ts';
import type { Profile } from '../profile/profile.ts';
import { openStoreKeys } from '../store/envelope.ts';
import type { PackEntry } from '../store/packs/packlist.ts';
import { appendRecord, type Draft } from './session/append-record.ts';
import { alarmsOf, factsOf, isSameState, isWhole, sameSecrets } from './state/assess.ts';
import { databaseCopies, databaseFacts, lateDatabases } from './state/databases.ts';
import { openState, scanIndexPath, type OpenState } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import type { Custodian } from './custodian/custodian.ts';
import { foldWhereMany } from './gc.ts';
import { keepFacts, keptFacts } from './state/read-state.ts';
import { progressOf } from './session/progress.ts';
import { openSession, type HostSession } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';
import { captureOutside, type OutsideCapture } from './state/outside-capture.ts';
import { refuseUnfinished } from './state/unfinished.ts';
import { writeManifest } from './state/write-manifest.ts';
import { openStoreWriter, type StoreWriter } from './sealed/store-writer.ts';
import { changeKeys, freshStoreKeys, type KeyChange, type NewStoreKeys } from './sealed/store-keys.ts';
import { withWriter } from './session/writer.ts';
import { identitiesOf } from '../host/home.ts';

/** What a checkpoint may be told. */
export interface CheckpointOptions {
  readonly message?: string | undefined;
  readonly declare?: readonly Declaration[];
  /** Signs a declaration, too, where the policy asks for it. */
  readonly custodian?: Custodian | undefined;
  /** The older state that the tree was put back to, which is then what the record says; `home` where it is at home as that was. */
  readonly restored?: { readonly manifest: Digest; readonly alarms: readonly Finding[]; readonly home?: Facts | null };
}

/** What a checkpoint did. */
export interface CheckpointResult {
  readonly session: HostSession;
  /** False where the state was the one already recorded. */
  readonly recorded: boolean;
  readonly manifest: Digest;
  readonly facts: Facts;
  /** Alarms that this checkpoint raised; `facts.alarms` has those still open, older ones too. */
  readonly newAlarms: readonly Finding[];
  /** Bytes added to the store. */
  readonly storedBytes: number;
  /** Whether all was captured and no alarm is open. */
  readonly complete: boolean;
}

/** Records the state of the tree. The same state makes no record. */
export async function checkpoint(ports: Ports, options: CheckpointOptions = {}): Promise<CheckpointResult> {
  return withWriter(ports, 'checkpoint', async (session) => {
    const done = await capture(session, options);
    if (!done.recorded) return done;
    // Upkeep may not cost the checkpoint that was written; the next one tries again.
    const after = await foldWhereMany(done.session).catch((error: unknown) => {
      if (isAgentError(error)) return null;
      throw error;
    });
    return after === null ? done : { ...done, session: (await openSession(ports)) as HostSession };
  });
}

/** The state before, and the store that goes on from it. */
interface Base {
  readonly previous: OpenState | null;
  readonly fresh: NewStoreKeys | null;
  readonly store: StoreWriter;
}

/** Records the state, under the lock. Whether it was quiesced is observed: no writer before nor after, no file in motion. */
export async function capture(session: HostSession, options: CheckpointOptions): Promise<CheckpointResult> {
  const { ports, control, root, state } = session;
  const { files, processes, clock, threads } = ports;
  if (options.restored === undefined) await refuseUnfinished(session, { moving: options.declare?.includes('rehome') === true });
  const profile = await readProfile(session);
  // A tree in which nothing changed puts nothing: then no pack is opened.
  let opened: Promise<Base> | null = null;
  const base = (): Promise<Base> => (opened ??= openBase(session));
  await files.makeDirectory(join(control, 'local', 'index'));
  const indexPath = scanIndexPath(control);
  const index = state.manifest === null ? null : ScanIndexReader.open(indexPath, { manifest: state.manifest, profile: profile.digest });
  const newIndex = new ScanIndexWriter(indexPath, profile.digest, index);
  const copies = databaseCopies(session, profile);
  let outside: OutsideCapture | null = null;
  let indexed: { readonly manifest: Digest; readonly secrets: number } | null = null;
  try {
    const quietBefore = writersOf({ root, profile, processes }).writers.length === 0;
    await copies.cut(index === null ? null : state.manifest);
    const found = await scan({
      rootName: 'main',
      root,
      profile,
      clock,
      threads,
      index,
      newIndex,
      databases: copies,
      store: async () => (await base()).store.writers,
      putTree: async (digest, bytes) => (await base()).store.writers.main.put(digest, bytes),
      onFiles: progressOf(ports, 'capture'),
    });
    outside = await captureOutside(session, profile, {
      isHome: options.declare?.includes('rehome') === true,
      store: async () => (await base()).store.writers,
      putTree: async (digest, bytes) => (await base()).store.writers.main.put(digest, bytes),
    });
    const quiesced = quietBefore && found.counter.changed === 0 && writersOf({ root, profile, processes }).writers.length === 0;
    const same = (options.declare ?? []).length > 0 ? null : await sameState(session, { found, quiesced, outside, base });
    if (same !== null) {
      if (found.learned) indexed = { manifest: same.manifest, secrets: found.secretFiles };
      const isComplete = isWhole(same.facts) && same.facts.alarms.length === 0;
      return { session, recorded: false, ...same, newAlarms: [], storedBytes: 0, complete: isComplete };
    }
    const result = await record(session, options, { found, quiesced, outside, profile, copies, base: await base() });
    indexed = { manifest: result.manifest, secrets: found.secretFiles };
    return result;
  } finally {
    index?.close();
    newIndex.end(indexed);
    outside?.end(indexed?.manifest ?? null);
    if (indexed !== null) copies.note(indexed.manifest);
    copies.close();
  }
}

/** Opens the state before and the store. */
async function openBase(session: HostSession): Promise<Base> {
  const { ports, control, state } = session;
  const previous =
    state.manifest === null
      ? null
      : await openState({
          readers: [session.reader],
          ledger: state,
          manifest: state.manifest,
          identities: identitiesOf(session.host),
          threads: ports.threads,
          cache: { files: ports.files, control },
        });
  const fresh = await freshStoreKeys(state);
  return { previous, fresh, store: await openStoreWriter(session, { previous, fresh }) };
}

/** What was found. */
interface Seen {
  readonly found: ScanResult;
  readonly quiesced: boolean;
  readonly outside: OutsideCapture;
}

/** The recorded state, where the tree is in it. The facts kept at hand do, where the index says the same of the secrets. */
async function sameState(
  session: HostSession,
  { found, quiesced, outside, base }: Seen & { readonly base: () => Promise<Base> },
): Promise<Pick<CheckpointResult, 'manifest' | 'facts'> | null> {
  const { manifest } = session.state;
  if (manifest === null) return null;
  const kept = found.secrets === null ? await keptFacts(session, manifest) : null;
  if (kept !== null) return isSameState(kept, { scan: found, quiesced, outside }) ? { manifest, facts: kept } : null;
  const { previous } = await base();
  return previous !== null && isSameState(previous.facts, { scan: found, quiesced, outside }) && sameSecrets(previous, found)
    ? { manifest, facts: previous.facts }
    : null;
}

/** Writes the new state and its record. */
async function record(
  session: HostSession,
  options: CheckpointOptions,
  {
    found,
    quiesced,
    outside,
    profile,
    copies,
    base,
  }: Seen & { readonly profile: Profile; readonly copies: DatabaseCopies; readonly base: Base },
): Promise<CheckpointResult> {
  const { previous, fresh, store } = base;
  const late = lateDatabases(session, profile, { copies, read: found.databasesRead });
  const databases = await databaseFacts(found, { copies, profile, previous: previous?.facts ?? null });
  const seen = { scan: { ...found, findings: [...found.findings, ...late] }, get: store.get, quiesced, outside, databases };
  const declared = options.restored === undefined ? (options.declare ?? []) : declaredByRestore(session.state);
  const alarms = await alarmsOf(previous, seen, { profile, declared });
  const open = [...alarms.open, ...(options.restored?.alarms ?? [])];
  const facts = await factsOf(session, seen, {
    previous,
    profile,
    alarms: open,
    message: options.message,
    moved: declared.includes('rehome'),
    home: options.restored?.home ?? previous?.facts ?? null,
  });
  const { secret } = store.writers;
  const secretPacks =
    found.secrets === null || found.secrets.length === 0 || sameSecrets(previous, found)
      ? []
      : await secret.finish(await writeSecrets(found.secrets, (digest, bytes) => secret.put(digest, bytes)));
  const mainPacks = await store.writers.main.finish(encodeFacts(facts));
  const secrets = found.secretFiles === 0 ? undefined : (secretPacks.at(-1)?.digest ?? previous?.manifest.secrets);
  const manifest = await writeManifest(session, { previous, packs: [...secretPacks, ...mainPacks], facts: lastOf(mainPacks), secrets });
  const ready = fresh === null ? session : await changeKeys(session, { fresh, ...(await keysOfOthers(session)) });
  const after = await appendRecord(ready, draftOf(manifest, options), { custodian: options.custodian });
  await keepFacts(after, manifest, facts);
  const storedBytes = [...secretPacks, ...mainPacks].reduce((sum, pack) => sum + pack.size, 0);
  const complete = isWhole(facts) && open.length === 0;
  return { session: after, recorded: true, manifest, facts, newAlarms: alarms.fresh, storedBytes, complete };
}

function draftOf(manifest: Digest, { restored, declare = [] }: CheckpointOptions): Draft {
  if (restored !== undefined) return { kind: 'restore', manifest, of: restored.manifest };
  return { kind: 'checkpoint', manifest, ...(declare.length === 0 ? {} : { declared: declare }) };
}

/** A restore declares what it changes, but for what a recovery key must sign. */
function declaredByRestore({ policy }: LedgerState): readonly Declaration[] {
  return DECLARATIONS.filter((one) => one !== 'rehome' && !policy.cosigned.includes(one));
}

/**
 * What a new holder seals to itself with its first store keys: those of the holder before, some of which it opens by a grant
 * alone, which no backup of its own would have.
 */
async function keysOfOthers({ chain, host, reader, state }: HostSession): Promise<Pick<KeyChange, 'again'>> {
  const newest = chain.records.findLast(({ record }) => record.kind === 'keys');
  if (newest === undefined || newest.record.by === host.key.publicKey) return {};
  const keys = await openStoreKeys(reader, Object.values(state.keys.storeKeys), identitiesOf(host));
  return { again: { keys, ids: [...keys.keys()] } };
}

function lastOf(packs: readonly PackEntry[]): Digest {
  const last = packs.at(-1);
  if (last === undefined) throw new AgentError('INTERNAL', 'a checkpoint wrote no pack');
  return last.digest;
}
