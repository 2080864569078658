import { AgentError, STATUS } from '../core/errors.ts';
import { memoryAlarms } from '../manifest/alarms.ts';
import { compareTrees } from '../manifest/compare.ts';
import type { Facts } from '../manifest/facts.ts';
import { sideOf } from './state/open-state.ts';
import type { CheckLine } from './state/check-lines.ts';
import { profileOfFacts } from './session/root-profile.ts';
import { DECLARATIONS } from '../ledger/record.ts';
import type { Ports } from './session/ports.ts';
import { learned, openForReading } from './state/read-state.ts';
import { findState, statesOf, type StateName } from './state/revision.ts';
import { openSession, type Session } from './session/session.ts';

/** The invariants from one state to a later one. */
export interface BetweenResult {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly CheckLine[];
  readonly status: number;
}

/** Checks invariants I1 to I3 from one recorded state to a later one: what changed was declared, and memory was not reset. */
export async function verifyBetween(ports: Ports, range: string): Promise<BetweenResult> {
  const [first, second, ...more] = range.split('..');
  if (first === undefined || second === undefined || more.length > 0)
    throw new AgentError('USAGE_WRONG', `'${range}' is no range`, { hints: [{ command: 'agent verify --between HEAD~1..HEAD' }] });
  const session = await openSession(ports);
  const from = findState(session, first);
  const to = findState(session, second === '' ? undefined : second);
  if (from.seq > to.seq)
    throw new AgentError('USAGE_WRONG', `record ${String(from.seq)} is later than record ${String(to.seq)}`, {
      hints: [{ command: `agent verify --between ${second}..${first}` }],
    });
  const before = (await openForReading(session, from.manifest)).facts;
  const after = (await openForReading(session, to.manifest)).facts;
  const declared = declaredBetween(session, from.seq, to.seq);
  const { identity, body } = (await profileOfFacts(before)).data;
  const lines = [
    governed('I1 identity', { before, after, name: 'identity', rule: identity, declared: declared.has('identity-update') }),
    await memoryAcross(session, { from, to, declared: declared.has('memory-repair') }),
    governed('I3 body', { before, after, name: 'body', rule: body, declared: declared.has('evolve') }),
  ];
  return { from: from.seq, to: to.seq, lines, status: lines.every((line) => line.ok) ? STATUS.done : STATUS.invariant };
}

function declaredBetween({ chain }: Session, from: number, to: number): ReadonlySet<string> {
  return new Set(
    chain.records.flatMap(({ record }) => {
      if (record.seq <= from || record.seq > to) return [];
      if (record.kind === 'restore') return DECLARATIONS.filter((one) => !chain.state.policy.cosigned.includes(one));
      return record.kind === 'checkpoint' ? (record.declared ?? []) : [];
    }),
  );
}

function governed(
  line: string,
  {
    before,
    after,
    name,
    rule,
    declared,
  }: {
    readonly before: Facts;
    readonly after: Facts;
    readonly name: string;
    readonly rule: 'declared' | 'recorded';
    readonly declared: boolean;
  },
): CheckLine {
  if (before.classes[name] === after.classes[name])
    return { name: line, ok: true, text: `same, ${after.classes[name]?.slice(0, 12) ?? 'none'}` };
  if (declared) return { name: line, ok: true, text: 'changed, and the change is declared' };
  return {
    name: line,
    ok: rule === 'recorded',
    text: rule === 'recorded' ? 'changed, which the profile allows' : 'changed, and nobody declared it',
  };
}

/** Compares memory before, between and after each rehome: what that itself did is declared by it, and nothing else is. */
async function memoryAcross(
  session: Session,
  { from, to, declared }: { readonly from: StateName; readonly to: StateName; readonly declared: boolean },
): Promise<CheckLine> {
  const states = statesOf(session.chain).filter(({ seq }) => seq >= from.seq && seq <= to.seq);
  let start = from;
  for (const [at, one] of states.entries()) {
    const record = session.chain.record(one.seq)?.record;
    if (one.seq === from.seq || record?.kind !== 'checkpoint' || record.declared?.includes('rehome') !== true) continue;
    const line = await memory(session, { from: start, to: states[at - 1] ?? start, declared });
    if (!line.ok) return line;
    start = one;
  }
  return memory(session, { from: start, to, declared });
}

/** Compares the memory of two states: what vanished, emptied or shrank between them, whether or not an alarm was open. */
async function memory(
  session: Session,
  { from, to, declared }: { readonly from: StateName; readonly to: StateName; readonly declared: boolean },
): Promise<CheckLine> {
  const before = sideOf(await learned(await openForReading(session, from.manifest)));
  const after = sideOf(await learned(await openForReading(session, to.manifest)));
  const [first, ...more] = await memoryAlarms(compareTrees(before, after), { before: before.get, after: after.get });
  if (first === undefined) return { name: 'I2 memory', ok: true, text: 'continued' };
  const what = `${first.code}: ${first.subject}${more.length === 0 ? '' : ` and ${String(more.length)} more`}`;
  return { name: 'I2 memory', ok: declared, text: declared ? `${what}; declared` : what };
}
