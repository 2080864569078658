import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Digest } from '../core/digest.ts';
import { AgentError, isAgentError } from '../core/errors.ts';
import { loadName, showName } from '../core/name.ts';
import { identitiesOf, createHost, loadHost, withHybrid, type Host } from '../host/home.ts';
import { loadMemory, type AgentMemory } from '../host/memory.ts';
import { finishRoot, type StagePlan } from '../install/stage.ts';
import { recoverSwap, swapIn, swapPaths } from '../install/swap.ts';
import type { Chain } from '../ledger/chain.ts';
import { parseLine, type RecoverRecord } from '../ledger/record.ts';
import { compareSeen, seenOf, type Seen } from '../ledger/seen.ts';
import { standingOf } from '../ledger/standing.ts';
import { generateAgeKey, seal } from '../store/age.ts';
import { openStoreKeys } from '../store/envelope.ts';
import { appendRecord } from './session/append-record.ts';
import type { Bundle, Input } from './bundle/bundle.ts';
import { newestBundle, openBundle, withBundles, type OpenedBundle } from './bundle/bundles.ts';
import { checkCustodian, type Custodian } from './custodian/custodian.ts';
import { mainRoot } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import { basesOf, isThere } from './rehydrate.ts';
import { OLD_TREE, openRoot, type HostSession } from './session/session.ts';
import { stageRoot } from './bundle/stage-root.ts';
import { readersOf, recipientFor, sealAgain, settleEnvelopes } from './sealed/store-keys.ts';
import { lookAtTarget, refuseRequirements, refuseShort, type TargetPlace } from './bundle/target.ts';
import { underLock } from './session/writer.ts';
import { word } from '../core/shell.ts';
import { CONTROL } from './session/control.ts';

/** From what, into what, by whose key, and how a person is asked. */
export interface RecoverOptions {
  readonly bundles: readonly string[];
  readonly input: Input;
  readonly directory: string;
  readonly custodian: Custodian;
  /** Tells a person what a recover does and gives back the reason; throws where nobody says so. Nothing is written before. */
  readonly confirm: (plan: RecoverPlan) => Promise<string>;
}

/** What a recover is going to do. */
export interface RecoverPlan {
  readonly name: string;
  readonly seq: number;
  /** When the newest complete state was recorded, by the clock of the host that is lost; and its age in milliseconds. */
  readonly at: string;
  readonly age: number;
  readonly holder: string;
  /** The target of an offer that was open, or null: it can still take the agent over. */
  readonly offeredTo: string | null;
  /** Records that this host knows of and that are given up. */
  readonly dropped: RecoverRecord['dropped'];
  /** Secret files that the lost host has, too. */
  readonly secrets: readonly string[];
}

/** What was brought back. */
export interface RecoverResult extends RecoverPlan {
  readonly session: HostSession;
  readonly path: string;
  readonly plan: StagePlan;
  /** False where the same command had brought it back before. */
  readonly recorded: boolean;
  /** Where the directory that was there is kept. */
  readonly oldTree: string | null;
}

/** Brings an agent back whose host is lost: the recovery key opens it and says that this host holds it from now on. */
export async function recover(ports: Ports, options: RecoverOptions): Promise<RecoverResult> {
  const { custodian } = options;
  return withBundles(ports, options, async (bundles) => {
    const bundle = newestBundle(bundles);
    const { chain, reader } = bundle;
    checkCustodian(chain.state, custodian, reader.name);
    const agent = chain.state.agent;
    const known = await loadHost(ports.files, ports.hostDirectory, ports.machine);
    const done = await recoveredAlready(ports, options, { bundle, host: known });
    if (done !== null) return done;
    const memory = await loadMemory(ports.files, ports.hostDirectory, agent);
    refuseReplaced(chain, memory, reader.name);
    const target = await lookAtTarget(ports, options.directory, { agent, overAny: true });
    const bases = [...bundles.filter((one) => one !== bundle).map((one) => one.reader), ...(await basesOf(ports, target, memory))];
    const identities = [...custodian.identities, ...identitiesOf(known)];
    const opened = await openBundle(bundle, { bases, identities, threads: ports.threads, deep: false });
    await refuseShort(target.path, opened.plan.bytes);
    refuseRequirements(ports, opened.state);
    const plan = planOf(ports, { chain, opened, dropped: droppedBy(chain, { memory, target }) });
    const reason = await options.confirm(plan);
    const classic =
      known ?? (await createHost(ports.files, { directory: ports.hostDirectory, machine: ports.machine, ...(await generateAgeKey()) }));
    const host = chain.state.hybrid ? await withHybrid(ports.files, classic, () => generateAgeKey({ hybrid: true })) : classic;
    return underLock(ports, agent, async () => {
      // While a person read and answered, this host may have seen more.
      const now = droppedBy(chain, { memory: await loadMemory(ports.files, ports.hostDirectory, agent), target });
      if (now.some((one) => !plan.dropped.some((known) => known.digest === one.digest)))
        throw new AgentError('RACE_LOST', `this host has seen more of '${plan.name}' meanwhile`, {
          hints: [
            { command: 'agent recover BUNDLE DIR --kit FILE', effect: 'the same again says what is given up then; nothing was changed' },
          ],
        });
      const { oldTree, path } = await install(ports, { opened, bundle, target, host, directory: options.directory });
      const session = { ...((await openRoot(ports, path)) as HostSession), name: opened.state.facts.name };
      const after = await takeOver(session, { host, identities, custodian, reason, dropped: plan.dropped, manifest: opened.state.digest });
      return { ...plan, session: after, path, plan: opened.plan, recorded: true, oldTree };
    });
  });
}

/** A kit that this host knows to be replaced takes nothing over, from however old a backup. */
function refuseReplaced({ state }: Chain, memory: AgentMemory | null, name: string): void {
  const custody = memory?.seen?.custody;
  if (custody === undefined || state.custody.includes(custody)) return;
  throw new AgentError('KIT_UNFIT', `the recovery key of '${name}' was replaced since, and this host knows of it`, {
    hints: [
      { command: 'agent recover NEWER-BUNDLE DIR --kit NEW-KIT', effect: 'with a backup that has the replacement; nothing was changed' },
    ],
  });
}

/** Puts the tree in place, where it is a replica until the record is written. */
async function install(
  ports: Ports,
  prepared: {
    readonly opened: OpenedBundle;
    readonly bundle: Bundle;
    readonly target: TargetPlace;
    readonly directory: string;
    readonly host: Host;
  },
): Promise<{ readonly path: string; readonly oldTree: string | null }> {
  const { opened, bundle, host } = prepared;
  const paths = swapPaths(prepared.target.path);
  const finish = (): void => {
    finishRoot(paths.target, mainRoot(opened.state.facts));
  };
  await recoverSwap(ports.files, paths, finish);
  const target = await lookAtTarget(ports, prepared.directory, { agent: bundle.chain.state.agent, overAny: true });
  const source = { ...opened, bundle, target, host };
  if (!(await isThere(ports, source))) {
    await stageRoot(ports, source, paths);
    await swapIn(ports.files, paths, finish);
  }
  const old = join(paths.target, CONTROL, OLD_TREE);
  return { path: paths.target, oldTree: (await ports.files.exists(old)) ? old : null };
}

/** Seals every store key to this host and appends the record by which it holds the agent. */
async function takeOver(
  session: HostSession,
  {
    host,
    identities,
    custodian,
    reason,
    dropped,
    manifest,
  }: {
    readonly host: Host;
    readonly identities: readonly string[];
    readonly custodian: Custodian;
    readonly reason: string;
    readonly dropped: RecoverRecord['dropped'];
    readonly manifest: Digest;
  },
): Promise<HostSession> {
  const { state, reader } = session;
  const keys = await openStoreKeys(reader, Object.values(state.keys.storeKeys), identities);
  const who = { host: recipientFor(host, state), recovery: state.recovery, readers: state.keys.readers };
  const storeKeys = await sealAgain(session, { keys, ids: [...keys.keys()] }, who);
  const sealed = (await seal([Buffer.from(reason)], readersOf(session, 'main'))).toString('base64');
  const after = await appendRecord(
    session,
    { kind: 'recover', holder: host.key.publicKey, recipient: recipientFor(host, state), dropped, manifest, storeKeys, sealed },
    { custodian },
  );
  await settleEnvelopes(after);
  return after;
}

/** The same recover again: its record is the newest one in the directory. */
async function recoveredAlready(
  ports: Ports,
  options: RecoverOptions,
  { bundle, host }: { readonly bundle: Bundle; readonly host: Host | null },
): Promise<RecoverResult | null> {
  const agent = bundle.chain.state.agent;
  const target = await lookAtTarget(ports, options.directory, { agent, overAny: true }).catch((error: unknown) => {
    if (isAgentError(error) && error.code === 'TARGET_ACTING') return null;
    throw error;
  });
  if (target !== null) return null;
  const path = await realpath(resolve(ports.cwd, options.directory));
  const session = await openRoot(ports, path);
  const last = session.chain.records.at(-1)?.record;
  const same = last?.kind === 'recover' && last.holder === host?.key.publicKey && last.by === options.custodian.key;
  if (!same || last.prev !== bundle.chain.state.head)
    throw new AgentError('TARGET_ACTING', `'${options.directory}' is the agent itself and may act; there is nothing to recover`, {
      hints: [{ command: `agent -C ${word(path)} status`, effect: 'shows it; nothing was changed' }],
    });
  const plan = {
    name: session.name,
    seq: last.seq - 1,
    at: last.at,
    age: 0,
    holder: bundle.chain.state.holder,
    offeredTo: null,
    dropped: last.dropped,
    secrets: [],
  };
  const untouched = { files: 0, bytes: 0n, missingSecrets: [], collisions: [] };
  return { ...plan, session: session as HostSession, path, plan: untouched, recorded: false, oldTree: null };
}

function planOf(
  ports: Ports,
  { chain, opened, dropped }: { readonly chain: Chain; readonly opened: OpenedBundle; readonly dropped: RecoverRecord['dropped'] },
): RecoverPlan {
  const { state, seq, at } = opened;
  return {
    name: state.facts.name,
    seq,
    at,
    age: Math.max(0, ports.clock.now() - Date.parse(at)),
    holder: chain.state.holder,
    offeredTo: chain.state.offer?.target ?? null,
    dropped,
    secrets: (state.sheet?.files ?? []).map((file) => file.path.map(loadName).map(showName).join('/')),
  };
}

/** The branches that this host knows of and that the chain does not contain. */
function droppedBy(
  chain: Chain,
  { memory, target }: { readonly memory: AgentMemory | null; readonly target: TargetPlace },
): RecoverRecord['dropped'] {
  const pending = memory?.pending === undefined ? null : parseLine(memory.pending.line);
  const standing = standingOf(chain, { seen: memory?.seen ?? null, pending });
  const known: readonly (Seen | null)[] = [
    memory?.seen ?? null,
    standing.outcome === 'lost' ? standing.seen : null,
    target.old === null ? null : seenOf(target.old.chain.state),
  ];
  const dropped = new Map<Digest, RecoverRecord['dropped'][number]>();
  for (const seen of known)
    if (seen !== null && compareSeen(chain, seen) !== 'contained')
      dropped.set(seen.digest, { seq: seen.seq, digest: seen.digest, epoch: seen.epoch });
  return [...dropped.values()].sort((a, b) => a.seq - b.seq);
}
