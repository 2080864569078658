import { join, resolve } from 'node:path';
import type { Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { readManifest } from '../manifest/manifest.ts';
import { readPackList } from '../store/packs/packlist.ts';
import { ChunkIndex } from '../store/packs/chunk-index.ts';
import { LEDGER_FILE } from '../store/layout.ts';
import { appendRecord } from './session/append-record.ts';
import { withBundle } from './bundle/bundle.ts';
import { noInput, refuseForeign } from './bundle/bundle-target.ts';
import { packsOf } from './state/check-store.ts';
import type { Custodian } from './custodian/custodian.ts';
import { foldPacks, smallPacks, type FoldResult } from './sealed/fold.ts';
import { chunkCachePath, openState } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import { checkClock, prune, type Pruned } from './sealed/prune.ts';
import { factsPath, readFacts } from './state/read-state.ts';
import { hasRules, keptStates, lastWithoutAlarms, pinnedStates, rangesOf, type Retention } from './state/retention.ts';
import { statesOf, type StateName } from './state/revision.ts';
import { openSession, type HostSession } from './session/session.ts';
import { withWriter } from './session/writer.ts';
import { identitiesOf } from '../host/home.ts';

/** What a gc is told. */
export interface GcOptions {
  readonly keep: Retention;
  /** Milliseconds for which what nothing needs any more stays. */
  readonly grace: number;
  readonly dryRun: boolean;
  /** Goes on where the clock contradicts the ledger: a person knows that it is right now. */
  readonly ignoreClock?: boolean;
  /** Signs that states are given up, too, where the policy asks for it. */
  readonly custodian?: Custodian | undefined;
}

/** What a gc did, or with `dryRun` would do. */
export interface GcResult {
  /** States that were kept and given up. */
  readonly kept: number;
  readonly expired: number;
  readonly folded: Pick<FoldResult, 'packs' | 'into' | 'bytes'> | null;
  readonly pruned: Pruned;
  /** The record, or null where none was needed. */
  readonly seq: number | null;
}

/** So many small packs make a checkpoint fold them by itself, as git does. */
const FOLD_AT = 64;
/** Milliseconds of grace unless told: longer than any copy of a store takes. */
export const GRACE = 86_400_000;

/**
 * Gives up the states that no rule keeps, folds small packs, and removes what nothing has needed for the time of grace. The
 * newest state, the last without alarms and both ends of an open offer stay whatever the rules say.
 */
export async function gc(ports: Ports, options: GcOptions): Promise<GcResult> {
  return withWriter(ports, 'gc', async (session) => {
    const now = ports.clock.now();
    if (options.ignoreClock !== true) checkClock(session.chain, now);
    const states = statesOf(session.chain);
    const kept = hasRules(options.keep) ? await keptBy(session, states, options.keep) : new Set(states.map((one) => one.seq));
    const expired = states.length - kept.size;
    const after = options.dryRun ? null : await collect(session, { states, kept, custodian: options.custodian });
    const { reader, chain, control } = after?.session ?? session;
    const pruned = await prune(ports.files, { directory: control, reader, chain, now, grace: options.grace, dryRun: options.dryRun });
    return { kept: kept.size, expired, folded: after?.folded ?? null, pruned, seq: after?.seq ?? null };
  });
}

/** Removes from a bundle directory what its own ledger says is needed no more. Takes no key. */
export async function pruneBundle(
  ports: Ports,
  { directory, grace, dryRun, ignoreClock = false }: Omit<GcOptions, 'keep' | 'custodian'> & { readonly directory: string },
): Promise<Pruned> {
  const target = resolve(ports.cwd, directory);
  return withBundle(ports, { path: target, input: noInput() }, async ({ reader, chain, root }) => {
    if (root !== null || !(await ports.files.exists(join(target, LEDGER_FILE))))
      throw new AgentError('USAGE_WRONG', `'${directory}' is no bundle directory`, {
        hints: [{ command: 'agent gc', effect: 'frees space in the agent itself' }],
      });
    await refuseForeign(await openSession(ports), target);
    const now = ports.clock.now();
    if (!ignoreClock) checkClock(chain, now);
    return prune(ports.files, { directory: target, reader, chain, now, grace, dryRun });
  });
}

/** What a checkpoint does where small packs have grown many: folds them, gives no state up, and removes what had its time. */
export async function foldWhereMany(session: HostSession): Promise<Pick<GcResult, 'folded' | 'pruned'> | null> {
  const { state, reader, ports } = session;
  if (state.manifest === null) return null;
  const packs = await packsOf(state.manifest, { read: (name) => reader.read(name), ledger: state });
  if (smallPacks({ packs }) < FOLD_AT) return null;
  const now = ports.clock.now();
  checkClock(session.chain, now);
  const { session: after, folded } = await collect(session, { states: statesOf(session.chain), kept: null });
  const { control: directory, chain } = after;
  return { folded, pruned: await prune(ports.files, { directory, reader: after.reader, chain, now, grace: GRACE }) };
}

async function collect(
  session: HostSession,
  {
    states,
    kept,
    custodian,
  }: { readonly states: readonly StateName[]; readonly kept: ReadonlySet<number> | null; readonly custodian?: Custodian | undefined },
): Promise<{ readonly session: HostSession; readonly folded: FoldResult | null; readonly seq: number | null }> {
  const { state, ports, control, reader, host } = session;
  if (state.manifest === null) return { session, folded: null, seq: null };
  const newest = await openState({
    readers: [reader],
    ledger: state,
    manifest: state.manifest,
    identities: identitiesOf(host),
    threads: ports.threads,
    cache: { files: ports.files, control },
  });
  for (const use of ['main', 'secret'] as const) await newest.objects[use].learn();
  const expired = kept === null ? [] : rangesOf(states, kept);
  const left = kept === null || expired.length === 0 ? null : states.filter((one) => kept.has(one.seq));
  const folded = await foldPacks(session, newest, left);
  if (expired.length === 0 && folded === null) return { session, folded, seq: null };
  const all = folded?.pages ?? state.folded;
  const draft = { kind: 'gc', expired, folded: left === null ? all : await usedFolds(session, all, left) } as const;
  const after = await appendRecord(session, draft, { custodian });
  await tidy(
    after,
    states.filter((one) => kept !== null && !kept.has(one.seq)),
  );
  return { session: after, folded, seq: after.state.seq };
}

/** The folds that the states which are left look into, directly or through a later fold. */
async function usedFolds({ reader }: HostSession, folded: readonly Digest[], left: readonly StateName[]): Promise<readonly Digest[]> {
  const read = (name: string): Promise<Buffer | null> => reader.read(name);
  const wanted = new Set<Digest>();
  for (const { manifest } of left)
    for (const page of (await readManifest(read, manifest))?.packlists ?? [])
      for (const pack of (await readPackList(read, page)).packs) wanted.add(pack.digest);
  const used: Digest[] = [];
  for (const digest of folded) {
    const { packs, replaces = [] } = await readPackList(read, digest);
    if (!replaces.some((old) => wanted.has(old))) continue;
    used.push(digest);
    for (const pack of packs) wanted.add(pack.digest);
  }
  return used;
}

/** Forgets what is kept at hand of states and packs that are gone. */
async function tidy({ ports, control, reader, state }: HostSession, gone: readonly StateName[]): Promise<void> {
  const { files } = ports;
  for (const { manifest } of gone) await files.remove(factsPath({ control }, manifest));
  if (state.manifest === null) return;
  const packs = await packsOf(state.manifest, { read: (name) => reader.read(name), ledger: state });
  const wanted = new Set<Digest>(packs.map((pack) => pack.digest));
  for (const use of ['main', 'secret'] as const) await ChunkIndex.compact(files, chunkCachePath(control, use), wanted);
  await files.sweep(join(control, 'local', 'index'), ports.clock.now());
}

async function keptBy(session: HostSession, states: readonly StateName[], rules: Retention): Promise<ReadonlySet<number>> {
  const sound = await lastWithoutAlarms(states, (manifest) => readFacts(session, manifest));
  return new Set([...keptStates(states, rules), ...pinnedStates(states, session.state), ...(sound === null ? [] : [sound.seq])]);
}
