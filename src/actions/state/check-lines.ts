import { STATUS, statusOf, type ErrorCode } from '../../core/errors.ts';
import { decide } from '../../ledger/decide.ts';
import type { Facts, Finding } from '../../manifest/facts.ts';
import type { Bundle } from '../bundle/bundle.ts';
import type { StoreCheck } from './check-store.ts';
import { liveGuards } from '../guarded/guards.ts';
import type { LiveDifference } from './live-tree.ts';
import { hostLabel } from '../session/refusal.ts';
import type { Session } from '../session/session.ts';

/** The six invariants and the bytes, as one line each. */
export interface CheckLine {
  readonly name: string;
  readonly ok: boolean;
  readonly text: string;
}

/** Statuses that a check can end with, from the gravest to the lightest. */
export const GRAVITY: readonly number[] = [
  STATUS.damaged,
  STATUS.unsupported,
  STATUS.stale,
  STATUS.invariant,
  STATUS.noKey,
  STATUS.differs,
  STATUS.incomplete,
];
const FINDING_STATUS: Readonly<Record<string, number>> = {
  BUNDLE_INCOMPLETE: STATUS.incomplete,
  BASE_NEEDED: STATUS.incomplete,
  SECRET_MISSING: STATUS.incomplete,
  FILE_UNREADABLE: STATUS.incomplete,
  FILE_CHANGING: STATUS.incomplete,
  TREE_DIFFERS: STATUS.differs,
  SQLITE_RAW: STATUS.incomplete,
  DATABASE_LOCKED: STATUS.incomplete,
  OUTSIDE_UNMERGED: STATUS.incomplete,
  SECRET_OUTSIDE: STATUS.done,
  STALE: STATUS.stale,
  FORKED: STATUS.stale,
  ALARM_OPEN: STATUS.done,
  SPECIAL_SKIPPED: STATUS.done,
  NOT_HOLDER: STATUS.done,
};

/** The exit status that a finding stands for. */
export function severity(finding: Finding): number {
  return FINDING_STATUS[finding.code] ?? statusOf(finding.code as ErrorCode);
}

/** What the ledger proves. */
export function ledgerLine({ state, records }: Bundle['chain']): CheckLine {
  return {
    name: 'ledger',
    ok: true,
    text: `${String(records.length)} records, each signed by who might, in one chain (epoch ${String(state.epoch)})`,
  };
}

/** What the sealed bytes prove. */
export function storeLine({ packs, bytes, findings, newest }: StoreCheck): CheckLine {
  const damaged = findings.filter((one) => severity(one) === STATUS.damaged).length;
  const text =
    damaged > 0
      ? `${String(damaged)} finding${damaged === 1 ? '' : 's'}, below`
      : newest === null
        ? 'no checkpoint yet'
        : `${String(packs)} packs, ${String(bytes)} bytes: all are what their names say`;
  return { name: 'bytes', ok: damaged === 0, text };
}

/** What the facts say of identity, memory, body and coverage. */
export function factLines(facts: Facts): readonly CheckLine[] {
  const { body, coverage, alarms, classes, identityVersion } = facts;
  const revision =
    body?.kind === 'git' ? `git ${body.revision?.slice(0, 12) ?? 'without a commit'}${body.dirty === true ? ', dirty' : ''}` : 'files';
  return [
    {
      name: 'I1 identity',
      ok: !alarms.some((one) => one.class === 'identity'),
      text: `${identityVersion === undefined ? '' : `version ${identityVersion}, `}${classes['identity']?.slice(0, 12) ?? 'no identity file'}`,
    },
    {
      name: 'I2 memory',
      ok: !alarms.some((one) => one.class === 'memory' || one.class === 'workflow'),
      text:
        alarms.length === 0
          ? 'no alarm is open'
          : `${String(alarms.length)} alarm${alarms.length === 1 ? '' : 's'} open: ${alarms
              .slice(0, 3)
              .map((one) => `${one.code} ${one.subject}`)
              .join(', ')}`,
    },
    { name: 'I3 body', ok: !alarms.some((one) => one.class === 'body'), text: revision },
    {
      name: 'coverage',
      ok: coverage.complete,
      text: `${String(coverage.included)} of ${String(coverage.walked)} paths, ${facts.consistency}${coverage.special > 0 ? `, ${String(coverage.special)} special files listed only` : ''}${coverage.unreadable > 0 ? `, ${String(coverage.unreadable)} unreadable` : ''}`,
    },
  ];
}

/** How the tree on disk stands to the record. */
export function treeLine(
  { changes, times }: LiveDifference,
  { acting, seq }: { readonly acting: boolean; readonly seq: number },
): CheckLine {
  const dates = times === 0 ? '' : `; ${String(times)} differ in their times alone`;
  if (changes.length === 0) return { name: 'tree', ok: true, text: `equal to record ${String(seq)}${dates}` };
  const text = acting
    ? `has moved on since record ${String(seq)}: ${String(changes.length)} paths`
    : `differs from record ${String(seq)}: ${String(changes.length)} paths`;
  return { name: 'tree', ok: acting, text: text + dates };
}

/** I4: who may act, what stands behind it, and what does not. */
export function authorityLines(session: Session): readonly CheckLine[] {
  const { state, view } = session;
  const holder = hostLabel(session, state.holder);
  const decision = view === null ? null : decide(state, view, 'act');
  const who =
    decision?.allowed === true
      ? 'this host, with this root'
      : state.offer === null
        ? decision?.allowed === false && state.holder === session.host?.key.publicKey
          ? `nobody here: ${decision.obstacle}`
          : holder
        : `nobody: offered to ${hostLabel(session, state.offer.target)}`;
  const guards = liveGuards(session);
  return [
    { name: 'I4 authority', ok: true, text: `may act: ${who} (token ${state.agent.slice(0, 12)}…:${String(state.epoch)})` },
    {
      name: 'enforced by',
      ok: guards.length > 0,
      text:
        guards.length > 0
          ? `${String(guards.length)} running guard${guards.length === 1 ? '' : 's'}; last seen: file on this host`
          : 'nothing runs under `agent guard`; last seen: file on this host',
    },
  ];
}
