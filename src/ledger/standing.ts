import type { Digest } from '../core/digest.ts';
import { pendingOutcome, type PendingOutcome } from './append.ts';
import type { Condition, SeenRelation } from './conditions.ts';
import { reduce, type Entry } from './reduce.ts';
import { compareSeen, type Seen } from './seen.ts';
import type { LedgerState } from './state.ts';

/** How a ledger stands to what a host remembers. */
export interface Standing {
  /** The state, as if a record that is still pending were in the ledger: what was signed counts. */
  readonly state: LedgerState;
  readonly outcome: PendingOutcome;
  readonly seen: Seen | null;
  readonly relation: SeenRelation;
}

/** Sets a ledger against a host's memory of the agent: the newest record seen, and the one that is pending. Pure. */
export function standingOf(
  chain: { readonly state: LedgerState; readonly digests: readonly Digest[] },
  memory: { readonly seen: Seen | null; readonly pending: Entry | null },
  conditions?: readonly Condition[],
): Standing {
  const { pending } = memory;
  const outcome = outcomeOf(chain, pending);
  const extended = pending !== null && outcome === 'append';
  const state = extended ? reduce(chain.state, pending, conditions) : chain.state;
  const whole = extended ? { state, digests: [...chain.digests, pending.digest] } : chain;
  const seen = pending !== null && outcome === 'lost' ? seenOfPending(pending, memory.seen) : memory.seen;
  return { state, outcome, seen, relation: compareSeen(whole, seen) };
}

/** How a pending record goes on. */
export function outcomeOf(chain: { readonly digests: readonly Digest[] }, pending: Entry | null): PendingOutcome {
  if (pending === null) return 'none';
  const { record, digest } = pending;
  return pendingOutcome(chain, { seq: record.seq, prev: record.kind === 'init' ? undefined : record.prev, digest });
}

function seenOfPending({ record, digest }: Entry, before: Seen | null): Seen {
  const custody = record.kind === 'keys' && record.recovery !== undefined ? digest : before?.custody;
  const seen = { seq: record.seq, digest, epoch: record.epoch, offered: record.kind === 'offer' };
  return custody === undefined ? seen : { ...seen, custody };
}
