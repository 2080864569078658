import { AgentError } from '../core/errors.ts';
import { decide } from '../ledger/decide.ts';
import { seal } from '../store/age.ts';
import { appendRecord } from './session/append-record.ts';
import { runHooks, type HookOutcome } from './hooks.ts';
import type { Ports } from './session/ports.ts';
import { assertMay } from './session/may.ts';
import type { HostSession } from './session/session.ts';
import { enableUnits } from './home/units.ts';
import { moveNote, noteMoved, placeHere } from './home/due.ts';
import { readProfile } from './session/root-profile.ts';
import { readFacts } from './state/read-state.ts';
import { readersOf } from './sealed/store-keys.ts';
import { openSettled, withWriter } from './session/writer.ts';

/** What a person asserts, if anything. */
export interface ResumeOptions {
  readonly assert?: 'here' | 'accept-loss' | undefined;
  /** Why, in the words of the person who says so; required with `assert`. */
  readonly reason?: string | undefined;
}

/** Whether it may act again. */
export interface ResumeResult {
  readonly session: HostSession;
  readonly recorded: boolean;
  /** What became of the profile's start commands. */
  readonly hooks: HookOutcome;
  /** Units that a fence had disabled, and that are enabled again. */
  readonly units: readonly string[];
}

/**
 * Lets the agent act again on the host that holds it. `here` asserts that this host and root are the agent and nothing
 * else acts as it; `accept-loss` gives up what this host has seen and this tree has not.
 */
export async function resume(ports: Ports, { assert, reason }: ResumeOptions): Promise<ResumeResult> {
  const action = assert === undefined ? 'resume' : assert === 'here' ? 'resume-here' : 'accept-loss';
  const opened = assertMay(await openSettled(ports), action);
  if (assert !== 'accept-loss' && decide(opened.state, opened.view, 'act').allowed)
    return { session: opened, recorded: false, hooks: 'none', units: [] };
  if (assert !== undefined && (reason === undefined || reason.trim() === ''))
    throw new AgentError('ASSERTION_UNCONFIRMED', 'what you assert is signed with your reason, and none is given', {
      hints: [{ command: `agent resume --${assert} --yes --reason TEXT`, effect: 'TEXT is sealed into the ledger' }],
    });
  return withWriter(ports, action, async (session) => {
    if (assert === undefined) return started(await appendRecord(session, { kind: 'resume' }));
    const sealed = (await seal([Buffer.from(reason ?? '')], readersOf(session, 'main'))).toString('base64');
    const seen = session.pending === null ? session.memory?.seen : { seq: session.pending.record.seq, digest: session.pending.digest };
    const forsaken = assert === 'accept-loss' && seen !== undefined ? { forsaken: { seq: seen.seq, digest: seen.digest } } : {};
    // First: from the record on it may act.
    const facts = session.state.manifest === null ? null : await readFacts(session, session.state.manifest);
    if (facts !== null) await noteMoved(session, facts, { here: placeHere(session), profile: await readProfile(session) });
    const after = await appendRecord(session, { kind: 'resume', asserted: assert, sealed, ...forsaken });
    return started(after);
  });
}

/** What came of a record by which the agent may act again: the profile's start commands run. */
export async function started(session: HostSession): Promise<ResumeResult> {
  // What came from elsewhere does not start before it is at home here.
  const isMoved = (await moveNote(session).read()) !== null;
  if (isMoved) return { session, recorded: true, hooks: 'moved', units: [] };
  return { session, recorded: true, hooks: await runHooks(session, 'start'), units: await enableUnits(session) };
}
