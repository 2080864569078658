import type { Digest } from '../core/digest.ts';
import { isAgentError, type Hint } from '../core/errors.ts';
import { decide } from '../ledger/decide.ts';
import type { Facts } from '../manifest/facts.ts';
import type { Profile } from '../profile/profile.ts';
import { elsewhereOf } from './awake/keychain.ts';
import { liveGuards, type GuardNote } from './guarded/guards.ts';
import { compareLive, looksUnchanged, type LiveDifference } from './state/live-tree.ts';
import { isOutsideUnchanged, outsideChanges } from './state/outside-compare.ts';
import type { Outside } from './session/outside.ts';
import type { Ports } from './session/ports.ts';
import { learned, openForReading, readFacts } from './state/read-state.ts';
import { explainObstacle, hostLabel } from './session/refusal.ts';
import { homeHints, movedFrom, placeHere } from './home/due.ts';
import { hasHost, openSession, type Session } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';
import { refuseUnfinished } from './state/unfinished.ts';

/** Who this is, who may act and why, and what to type next. */
export interface StatusResult {
  readonly name: string;
  readonly agent: string;
  readonly root: string;
  readonly profile: string;
  readonly seq: number;
  readonly epoch: number;
  /** `ACTIVE`, or what stands between this host and acting. */
  readonly standing: string;
  readonly why: string;
  /** The place that its files are written for, where that is another one. */
  readonly home: string | null;
  readonly holder: string;
  readonly awaits: string | null;
  readonly newest: { readonly at: string; readonly seq: number; readonly age: number; readonly facts: Facts | null } | null;
  readonly changes: LiveDifference['changes'] | null;
  readonly guards: readonly GuardNote[];
  /** What lies outside of the root, belongs to the agent and is not captured. */
  readonly elsewhere: readonly Outside[];
  readonly next: readonly Hint[];
}

/** Says in one look who this is, who may act and why, what is captured, what changed, and what to type next. */
export async function status(ports: Ports): Promise<StatusResult> {
  const session = await openSession(ports);
  const { state, view, chain } = session;
  const decision = view === null ? null : decide(state, view, 'act');
  const last = chain.state.manifestSeq === null ? undefined : chain.record(chain.state.manifestSeq);
  const facts = state.manifest === null ? null : await readFacts(session, state.manifest);
  const profile = await readProfile(session);
  const changes =
    facts === null || state.manifest === null ? null : await changesSince(session, { facts, manifest: state.manifest, profile });
  const guards = liveGuards(session);
  const mine = decision?.allowed === true;
  const obstacle = decision === null ? 'FOREIGN' : decision.allowed ? null : decision.obstacle;
  const unfinished = await refuseUnfinished(session).then(
    () => null,
    (error: unknown) => {
      if (isAgentError(error)) return error;
      throw error;
    },
  );
  const moved = mine && hasHost(session) && facts !== null ? (movedFrom(facts, placeHere(session), profile)?.root ?? null) : null;
  const promotable = view !== null && decide(state, view, 'promote').allowed;
  const explained = obstacle === null ? null : explainObstacle(session, obstacle);
  return {
    name: session.name,
    agent: state.agent,
    root: session.root,
    profile: profile.data.name,
    seq: chain.state.seq,
    epoch: state.epoch,
    standing: obstacle ?? unfinished?.code ?? 'ACTIVE',
    home: moved,
    why: explained?.message ?? unfinished?.message ?? 'this host holds the agent, and this is its root',
    holder: hostLabel(session, state.holder),
    awaits:
      state.offer === null ? null : promotable ? 'your word: promote or decline' : `the reply of ${hostLabel(session, state.offer.target)}`,
    newest:
      last === undefined
        ? null
        : { at: last.record.at, seq: last.record.seq, age: Math.max(0, ports.clock.now() - Date.parse(last.record.at)), facts },
    changes,
    guards,
    elsewhere: await elsewhereOf(ports, session.root, profile),
    next: promotable
      ? [
          { command: 'agent promote', effect: 'this host takes over; the source may never act again with what it has' },
          { command: 'agent decline', effect: 'the source goes on' },
        ]
      : mine && unfinished !== null
        ? unfinished.hints
        : mine && moved !== null
          ? homeHints(session.root)
          : mine
            ? nextWhenActive({
                changed: last === undefined || (changes?.length ?? 0) > 0,
                alarms: facts?.alarms ?? [],
                guarded: guards.length > 0,
              })
            : (explained?.hints ?? []),
  };
}

async function changesSince(
  session: Session,
  { facts, manifest, profile }: { readonly facts: Facts; readonly manifest: Digest; readonly profile: Profile },
): Promise<LiveDifference['changes']> {
  const { root } = session;
  const isBeyondSame = !hasHost(session) || (await isOutsideUnchanged(session, profile, facts.roots));
  if ((await looksUnchanged(session, facts, { manifest, root, profile })) && isBeyondSame) return [];
  const recorded = await learned(await openForReading(session, manifest));
  const { changes, ownSecrets } = await compareLive(session, recorded, { root, profile, trustIndex: true });
  const beyond = hasHost(session) && !isBeyondSame ? await outsideChanges(session, recorded, { profile, trustIndex: true }) : [];
  return [...changes, ...ownSecrets.map((path) => ({ kind: 'added' as const, path })), ...beyond];
}

function nextWhenActive({
  changed,
  alarms,
  guarded,
}: {
  readonly changed: boolean;
  readonly alarms: Facts['alarms'];
  readonly guarded: boolean;
}): readonly Hint[] {
  const [alarm] = alarms;
  if (alarm !== undefined)
    return [
      { command: alarm.next ?? 'agent checkpoint', effect: `settles ${alarm.code} '${alarm.subject}'; until then nothing is offered` },
    ];
  if (changed) return [{ command: 'agent checkpoint', effect: 'records what changed' }];
  return guarded
    ? [{ command: 'agent pack -o DIR', effect: 'a backup' }]
    : [{ command: 'agent guard -- CMD', effect: 'runs the agent so that a fence can end it' }];
}
