import { AgentError } from '../../core/errors.ts';
import type { Digest } from '../../core/digest.ts';
import type { LedgerState } from '../../ledger/state.ts';
import { stateOf } from '../../ledger/record.ts';
import type { Chain } from '../../ledger/chain.ts';
import type { Session } from '../session/session.ts';

/** A recorded state: the seq of its checkpoint and its manifest. */
export interface StateName {
  readonly seq: number;
  readonly manifest: Digest;
  readonly at: string;
}

/** The states that a ledger names and that were not given up, oldest first. */
export function statesOf({ records, state }: Pick<Chain, 'records' | 'state'>): readonly StateName[] {
  return namedStates(records).filter(({ seq }) => !isExpired(state, seq));
}

function namedStates(records: Chain['records']): readonly StateName[] {
  return records.flatMap(({ record }): StateName[] => {
    const manifest = stateOf(record);
    return manifest === null ? [] : [{ seq: record.seq, manifest, at: record.at }];
  });
}

/** Whether the state of a record was given up by gc. */
export function isExpired({ expired }: Pick<LedgerState, 'expired'>, seq: number): boolean {
  return expired.some(([from, to]) => from <= seq && seq <= to);
}

/**
 * Finds a state by name: `HEAD` (the default), `HEAD~2`, the seq of a record (the newest checkpoint up to it), or the
 * first digits of a manifest's digest. Throws CHECKPOINT_MISSING or REVISION_UNKNOWN.
 */
export function findState({ chain, name }: Pick<Session, 'chain' | 'name'>, revision = 'HEAD'): StateName {
  const states = statesOf(chain);
  if (states.length === 0)
    throw new AgentError('CHECKPOINT_MISSING', `'${name}' has no checkpoint yet`, {
      hints: [{ command: 'agent checkpoint', effect: 'records the first state' }],
    });
  const last = chain.records.length - 1;
  const found = /^[0-9]+$/.test(revision) && Number(revision) > last ? undefined : select(states, revision);
  if (found !== undefined) return found;
  if (/^[0-9]+$/.test(revision) && Number(revision) > last)
    throw new AgentError('REVISION_UNKNOWN', `there is no record ${revision} of '${name}'; the newest is ${String(last)}`, {
      hints: [{ command: 'agent log', effect: 'lists the states' }],
    });
  const gone = select(namedStates(chain.records), revision);
  if (gone !== undefined)
    throw new AgentError('REVISION_UNKNOWN', `the state of record ${String(gone.seq)} of '${name}' was given up by gc`, {
      hints: [{ command: 'agent log', effect: 'lists those that are kept; a backup made before may have it' }],
    });
  throw new AgentError('REVISION_UNKNOWN', `'${revision}' names no state of '${name}'`, {
    hints: [{ command: 'agent log', effect: 'lists them' }],
  });
}

function select(states: readonly StateName[], revision: string): StateName | undefined {
  const back = /^HEAD(?:~([0-9]{1,6}))?$/.exec(revision);
  if (back !== null) return states[states.length - 1 - Number(back[1] ?? 0)];
  if (/^[0-9]{1,9}$/.test(revision)) return states.filter((one) => one.seq <= Number(revision)).at(-1);
  if (!/^[0-9a-f]{6,64}$/.test(revision)) return undefined;
  const matches = states.filter((one) => one.manifest.startsWith(revision));
  return matches.length === 1 ? matches[0] : undefined;
}
