import type { Activity } from '../capture/quiet.ts';
import { findActivity, writersOf } from '../capture/quiet.ts';
import { AgentError } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import { identitiesOf, saveHost, withKnown } from '../host/home.ts';
import { readManifest } from '../manifest/manifest.ts';
import { appendRecord } from './session/append-record.ts';
import { capture, type CheckpointResult } from './checkpoint.ts';
import { liveGuards, setDrainDeadline, sweepGuards, type GuardNote } from './guarded/guards.ts';
import { endGuard } from './guarded/guard-end.ts';
import type { Custodian } from './custodian/custodian.ts';
import { disableUnits, type Units } from './home/units.ts';
import { runHooks, type HookOutcome } from './hooks.ts';
import { started } from './resume.ts';
import { openState } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import { refuseClassicTarget, trusted, type Target, type Trust } from './session/trust.ts';
import { hostLabel } from './session/refusal.ts';
import { sentTo } from './bundle/sent.ts';
import { assertMay } from './session/may.ts';
import { openSession, type HostSession, type Session } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';
import { changeKeys } from './sealed/store-keys.ts';
import { openSettled, withWriter } from './session/writer.ts';

/** For whom, and how. */
export interface FenceOptions extends Trust {
  /** Whether the profile's stop commands are passed over: whoever says so has stopped the agent. */
  readonly noStop?: boolean;
  /** Milliseconds that running guards may go on. */
  readonly drain: number;
  /** Signs the offer, too, where the policy asks for it. */
  readonly custodian?: Custodian | undefined;
}

/** What a fence did. */
export interface FenceResult {
  readonly session: HostSession;
  readonly checkpoint: CheckpointResult | null;
  /** Guards that were ended. */
  readonly ended: readonly GuardNote[];
  /** Processes of other accounts that might write and could not be looked at. */
  readonly unseen: number;
  readonly offeredTo: string | null;
  /** What became of the profile's stop commands. */
  readonly hooks: HookOutcome;
  /** Units of this host by which it is started. */
  readonly units: Units;
}

/** What a fence would meet. */
export interface FencePlan {
  readonly target: string | null;
  readonly guards: readonly GuardNote[];
  readonly writers: Activity['writers'];
  readonly alarms: readonly string[];
}

/** Tells what a fence would do and meet; changes nothing. */
export async function planFence(ports: Ports, options: FenceOptions): Promise<FencePlan> {
  const session = assertMay(await openSession(ports), 'fence');
  const target = options.to === undefined ? null : trusted(session, options);
  const profile = await readProfile(session);
  const { writers } = writersOf({ root: session.root, profile, processes: ports.processes });
  return {
    target: target?.label ?? null,
    guards: liveGuards(session),
    writers,
    alarms: (await openAlarms(session)).map((one) => `${one.code} ${one.subject}`),
  };
}

/** Stops the agent from acting: fence, drain and stop, look for writers, final checkpoint, and with a target the offer. */
export async function fence(ports: Ports, options: FenceOptions): Promise<FenceResult> {
  const opened = await openSettled(ports);
  const already = alreadyOffered(opened, options);
  if (already !== null) return already;
  return withWriter(ports, 'fence', async (session) => {
    const target = options.to === undefined ? null : trusted(session, options);
    if (target !== null) refuseClassicTarget(session, target);
    if (target !== null) refuseAlarms(session, await openAlarms(session));
    await setDrainDeadline(session, ports.clock.now() + options.drain);
    const fenced = session.state.fenced ? session : await appendRecord(session, { kind: 'fence' });
    try {
      const ended = await stopGuards(fenced, options.drain);
      const hooks = options.noStop === true ? ('none' as const) : await runHooks(fenced, 'stop');
      const units = await disableUnits(fenced, await readProfile(fenced));
      const activity = await quiet(fenced);
      const done = await capture(fenced, {});
      if (target !== null) refuseAlarms(session, done.facts.alarms);
      const offered = target === null ? done.session : await offer(done, target, options.custodian);
      return {
        session: offered,
        checkpoint: done,
        ended,
        unseen: activity.unseen,
        offeredTo: target?.label ?? null,
        hooks,
        units,
      };
    } catch (error) {
      // What refuses half-way resumes by itself: an agent that nobody may run is worse than one that was not fenced.
      if (!session.state.fenced) await resumeAgain(ports).catch(() => undefined);
      throw error;
    }
  });
}

async function resumeAgain(ports: Ports): Promise<void> {
  const now = await openSession(ports);
  // A disk that is full may refuse this too; then the fence stands, and status says so.
  if (now.state.fenced && now.state.offer === null) await started(await appendRecord(assertMay(now, 'resume'), { kind: 'resume' }));
}

/** The same fence again, after the offer was written: nothing is left to do. */
function alreadyOffered(session: Session, { to }: FenceOptions): FenceResult | null {
  const { state, host, view } = session;
  if (state.offer === null || to === undefined || host === null || view === null) return null;
  const key = 'invite' in to ? to.invite.by : host.known.find((one) => one.label === to.known)?.key;
  if (key !== state.offer.target || state.holder !== host.key.publicKey || view.seen !== 'contained') return null;
  return {
    session: { ...session, host, view },
    checkpoint: null,
    ended: [],
    unseen: 0,
    offeredTo: hostLabel(session, key),
    hooks: 'none',
    units: { disabled: [], left: [] },
  };
}

async function stopGuards(session: HostSession, drain: number): Promise<readonly GuardNote[]> {
  const { clock } = session.ports;
  sweepGuards(session);
  const running = liveGuards(session);
  const deadline = clock.now() + drain;
  while (liveGuards(session).length > 0 && clock.now() < deadline) await clock.sleep(50);
  for (const note of liveGuards(session)) await endGuard(session, note);
  return running;
}

/** Looks for whoever still writes; throws WRITER_FOUND with pid, program and path, or TREE_CHANGING with the paths. */
async function quiet(session: HostSession): Promise<Activity> {
  const profile = await readProfile(session);
  const { root, ports } = session;
  const activity = await findActivity({ root, profile, processes: ports.processes, clock: ports.clock });
  const [writer] = activity.writers;
  if (writer !== undefined) {
    const all = activity.writers.map((one) => `process ${String(one.pid)} (${one.program}) has '${one.path}' open for writing`);
    throw new AgentError('WRITER_FOUND', all.slice(0, 5).join('; '), {
      hints: [
        { command: `kill ${String(writer.pid)}`, effect: 'then fence again; it resumed by itself' },
        { command: 'agent guard -- CMD', effect: 'run the agent so, and the fence ends it for you' },
      ],
    });
  }
  if (activity.changing.length > 0)
    throw new AgentError(
      'TREE_CHANGING',
      `something goes on writing: ${activity.changing
        .slice(0, 5)
        .map((path) => `'${path}'`)
        .join(', ')} changed within a second`,
      {
        hints: [
          {
            command: `fuser -v ${word(`${root}/${activity.changing[0] ?? ''}`)}`,
            effect: 'may name who; stop it, then fence again; it resumed by itself',
          },
        ],
      },
    );
  return activity;
}

async function offer(done: CheckpointResult, target: Target, custodian: Custodian | undefined): Promise<HostSession> {
  const { session, manifest } = done;
  const { ports, reader, state, host } = session;
  const opened = await openState({ readers: [reader], ledger: state, manifest, identities: identitiesOf(host), threads: ports.threads });
  const ids = [...new Set(opened.packs.map((pack) => pack.key))].filter((id) => state.keys.storeKeys[id]?.use === 'main');
  const shared = await changeKeys(session, { again: { keys: opened.keys, ids, alsoTo: target.recipient } });
  // What the target says that it has, or what was packed for it while the agent ran.
  const has = target.has.find((one) => one.agent === state.agent)?.manifest ?? (await sentTo(session, target.key)) ?? undefined;
  const since = has !== undefined && (await readManifest((name) => reader.read(name), has)) !== null ? { since: has } : {};
  const offered = await appendRecord(shared, { kind: 'offer', manifest, target: target.key, ...since }, { custodian });
  const knowing = withKnown(offered.host, { key: target.key, recipient: target.recipient, label: target.label }, ports.clock.now());
  await saveHost(ports.files, knowing);
  return { ...offered, host: knowing };
}

async function openAlarms({ ports, reader, state, host }: HostSession): Promise<CheckpointResult['facts']['alarms']> {
  if (state.manifest === null) return [];
  return (
    await openState({ readers: [reader], ledger: state, manifest: state.manifest, identities: identitiesOf(host), threads: ports.threads })
  ).facts.alarms;
}

function refuseAlarms(session: HostSession, alarms: CheckpointResult['facts']['alarms']): void {
  const [first] = alarms;
  if (first === undefined) return;
  const more = alarms.length === 1 ? '' : ` and ${String(alarms.length - 1)} more`;
  throw new AgentError('ALARM_OPEN', `'${session.name}' is not offered while an alarm is open: ${first.code} '${first.subject}'${more}`, {
    hints: [{ command: first.next ?? 'agent checkpoint', effect: 'after you looked; the change is then declared and signed' }],
  });
}
