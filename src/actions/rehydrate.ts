import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { fsPath, showName, type RelPath } from '../core/name.ts';
import { identitiesOf, loadHost, type Host } from '../host/home.ts';
import { loadMemory, saveMemory, type AgentMemory } from '../host/memory.ts';
import { placeOf } from '../host/place.ts';
import { finishRoot, type StagePlan } from '../install/stage.ts';
import { recoverSwap, swapIn, swapPaths } from '../install/swap.ts';
import { parseChain, type Chain } from '../ledger/chain.ts';
import { compareSeen, seenOf } from '../ledger/seen.ts';
import { LEDGER_FILE } from '../store/layout.ts';
import { directoryReader, type StoreReader } from '../store/reader.ts';
import type { Bundle, Input } from './bundle/bundle.ts';
import { newestBundle, openBundle, withBundles, type OpenedBundle } from './bundle/bundles.ts';
import { compareLive } from './state/live-tree.ts';
import { mainRoot } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import { needsOf, type Need } from './awake/needs.ts';
import { answeredAlready, losesOwnOnly, refuseOlder } from './bundle/rehydrate-again.ts';
import { profileOfFacts } from './session/root-profile.ts';
import { OLD_TREE } from './session/session.ts';
import { stageRoot } from './bundle/stage-root.ts';
import { lookAtTarget, refuseRequirements, refuseShort, type TargetPlace } from './bundle/target.ts';
import { underLock } from './session/writer.ts';
import { controlOf, CONTROL } from './session/control.ts';

/** What a rehydrate is told. */
export interface RehydrateOptions {
  readonly bundles: readonly string[];
  readonly input: Input;
  readonly directory: string;
  readonly dryRun: boolean;
}

/** What a rehydrate put in place, or with `dryRun` would. */
export interface RehydrateResult {
  readonly name: string;
  readonly agent: Digest;
  readonly path: string;
  readonly seq: number;
  readonly plan: StagePlan;
  /** What the agent needs of this host and does not find, as far as can be seen without running anything of its own. */
  readonly needs: readonly Need[];
  /** Files of class secret that the target has to supply. */
  readonly missingSecrets: readonly string[];
  /** Whether the state is older than the newest that the ledger names. */
  readonly older: boolean;
  readonly offeredHere: boolean;
  /** What this host answered to the offer before, where the bundle was put in place already. */
  readonly answered: 'promote' | 'decline' | null;
  readonly oldTree: string | null;
  readonly dryRun: boolean;
}

/** A bundle whose state was opened and checked, and where it is to go. */
interface Prepared extends OpenedBundle {
  readonly target: TargetPlace;
  readonly bundle: Bundle;
  readonly host: Host;
  readonly memory: AgentMemory | null;
}

/** What is to be said where nothing was to be done. */
const UNTOUCHED = {
  plan: { files: 0, bytes: 0n, missingSecrets: [], collisions: [] },
  needs: [],
  missingSecrets: [],
  older: false,
  offeredHere: false,
  oldTree: null,
} as const;

/** Puts an agent in place from bundles: stage beside the target, check from disk, swap in. It never acts. */
export async function rehydrate(ports: Ports, options: RehydrateOptions): Promise<RehydrateResult> {
  return withBundles(ports, options, async (bundles) => {
    const bundle = newestBundle(bundles);
    const again = await answeredAlready(ports, bundle, options.directory);
    if (again !== null) return { ...again, ...UNTOUCHED, agent: bundle.chain.state.agent, path: options.directory, dryRun: options.dryRun };
    if (options.dryRun) return summary(ports, await prepare(ports, bundles, bundle, options), { options, oldTree: null });
    const agent = bundle.chain.state.agent;
    const first = await prepare(ports, bundles, bundle, options);
    return underLock(ports, agent, async () => {
      const paths = swapPaths(first.target.path);
      const finish = (): void => {
        finishRoot(paths.target, mainRoot(first.state.facts));
      };
      await recoverSwap(ports.files, paths, finish);
      // What was looked at before the lock may be another by now: a promote, a checkpoint, a swap that was cut.
      const memory = await loadMemory(ports.files, ports.hostDirectory, agent);
      const isFree = !(await ports.files.exists(paths.target));
      refuseOlder(bundle.chain, memory, { name: bundle.reader.name, mayLose: isFree && losesOwnOnly(bundle.chain, memory, first.host) });
      const target = await lookAtTarget(ports, options.directory, { agent });
      const prepared = { ...first, memory, target };
      const there = await isThere(ports, prepared);
      if (!there) {
        await stageRoot(ports, prepared, paths);
        await swapIn(ports.files, paths, finish);
      }
      await register(ports, prepared);
      const absent: RelPath[] = [];
      for (const path of prepared.plan.missingSecrets) if (!existsSync(fsPath(paths.target, path))) absent.push(path);
      const oldTree = there || prepared.target.old === null ? null : join(paths.target, CONTROL, OLD_TREE);
      return summary(ports, { ...prepared, plan: { ...prepared.plan, missingSecrets: absent } }, { options, oldTree });
    });
  });
}

async function prepare(ports: Ports, bundles: readonly Bundle[], bundle: Bundle, options: RehydrateOptions): Promise<Prepared> {
  const { files } = ports;
  const { chain, reader } = bundle;
  const host = await loadHost(files, ports.hostDirectory, ports.machine);
  const memory = await loadMemory(files, ports.hostDirectory, chain.state.agent);
  const isFree = !(await files.exists(resolve(ports.cwd, options.directory)));
  refuseOlder(chain, memory, { name: reader.name, mayLose: isFree && losesOwnOnly(chain, memory, host) });
  const target = await lookAtTarget(ports, options.directory, { agent: chain.state.agent });
  if (host === null)
    throw new AgentError('KEY_UNFIT', `this host has no keys yet, so that '${reader.name}' is sealed to others`, {
      hints: [{ command: 'agent invite', effect: 'makes them; then `agent fence --to` where the agent is held seals it to this host' }],
    });
  const bases = [...bundles.filter((one) => one !== bundle).map((one) => one.reader), ...(await basesOf(ports, target, memory))];
  const opened = await openBundle(bundle, { bases, identities: identitiesOf(host), threads: ports.threads, deep: options.dryRun });
  const { offer } = chain.state;
  if (offer !== null && opened.state.digest !== offer.manifest)
    throw new AgentError('BUNDLE_INCOMPLETE', `the state that is offered did not arrive whole in '${reader.name}'`, {
      hints: [{ command: 'agent pack -o FILE', effect: 'on the source, and copy it again; nothing was changed' }],
    });
  await refuseShort(target.path, opened.plan.bytes);
  refuseRequirements(ports, opened.state);
  return { ...opened, bundle, host, memory, target };
}

/** Places on this host where packs of the agent may lie already. */
export async function basesOf(ports: Ports, target: TargetPlace, memory: AgentMemory | null): Promise<readonly StoreReader[]> {
  const paths = new Set([
    ...(target.old === null ? [] : [target.old.control]),
    ...(await Promise.all((memory?.roots ?? []).map((one) => controlOf(ports.files, one.place.path)))),
  ]);
  return [...paths].map((path) => directoryReader(ports.files, path));
}

/** Whether the target is this very state already, put there by the same command before. */
export async function isThere(
  ports: Ports,
  { target, state, bundle }: Pick<Prepared, 'target' | 'state'> & { readonly bundle: Pick<Bundle, 'chain'> },
): Promise<boolean> {
  if (target.old?.chain.state.head !== bundle.chain.state.head) return false;
  const profile = await profileOfFacts(state.facts);
  const { changes, times } = await compareLive({ ports, control: target.old.control }, state, {
    root: target.path,
    profile,
    trustIndex: false,
  });
  return changes.length === 0 && times === 0;
}

/** Remembers the newest record, and the root where it is the agent's place on this host. */
async function register(ports: Ports, { host, memory, bundle, target, state }: Prepared): Promise<void> {
  const { files } = ports;
  const place = await placeOf(files, target.path);
  if (place === null) throw new AgentError('INTERNAL', `'${target.path}' vanished`);
  const before: AgentMemory = memory ?? {
    format: 'perdure-memory/1',
    agent: bundle.chain.state.agent,
    name: state.facts.name,
    home: host.noted,
    roots: [],
  };
  const registered = before.roots[0]?.place.path;
  const isHolder = bundle.chain.state.holder === host.key.publicKey;
  // A holder's second tree is a copy until a person says otherwise; it may not take the agent's place by itself.
  const takesPlace =
    registered === place.path || (!isHolder && (registered === undefined || !(await files.exists(join(registered, CONTROL)))));
  const bytes = await files.read(join(await controlOf(files, target.path), LEDGER_FILE));
  const { pending: _, ...kept } = before;
  await saveMemory(files, host.directory, {
    ...kept,
    seen: newerSeen(parseChain(bytes), before.seen),
    roots: takesPlace ? [{ name: 'main', place }] : before.roots,
  });
}

/** What this host has seen never goes back by a rehydrate. */
function newerSeen(chain: Chain, seen: AgentMemory['seen']): NonNullable<AgentMemory['seen']> {
  return seen !== undefined && compareSeen(chain, seen) === 'behind' ? seen : seenOf(chain.state);
}

async function summary(
  ports: Ports,
  { bundle, state, plan, seq, host, target }: Prepared,
  { options, oldTree }: { readonly options: RehydrateOptions; readonly oldTree: string | null },
): Promise<RehydrateResult> {
  const { chain } = bundle;
  const profile = await profileOfFacts(state.facts);
  const needs = options.dryRun ? [] : await needsOf({ ports, root: target.path, profile, state, mayRun: false });
  return {
    name: state.facts.name,
    agent: chain.state.agent,
    path: options.directory,
    seq,
    plan,
    needs: needs.filter(({ met }) => met === false),
    missingSecrets: plan.missingSecrets.map(showName),
    older: chain.state.manifest !== state.digest,
    offeredHere: chain.state.offer?.target === host.key.publicKey,
    answered: null,
    oldTree,
    dryRun: options.dryRun,
  };
}
