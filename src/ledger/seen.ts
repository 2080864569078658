import type { Digest } from '../core/digest.ts';
import type { SeenRelation } from './conditions.ts';
import type { LedgerState } from './state.ts';

/** The newest record of an agent that a host remembers. */
export interface Seen {
  readonly seq: number;
  readonly digest: Digest;
  readonly epoch: number;
  /** Whether an offer was open. */
  readonly offered: boolean;
  /** How often the recovery keys had been replaced. */
  readonly custody: number;
}

/** What a host remembers after the state. */
export function seenOf(state: LedgerState): Seen {
  return { seq: state.seq, digest: state.head, epoch: state.epoch, offered: state.offer !== null, custody: state.custody };
}

/**
 * Compares a chain with what a host remembers: it contains the remembered record (or a later resume gave exactly that
 * record up, or a recover outranks it), or it ends before, or it went another way. A recover by a key that was replaced
 * outranks nothing of what came after: whoever stole an old kit and an old backup has no agent.
 */
export function compareSeen(chain: { readonly digests: readonly Digest[]; readonly state: LedgerState }, seen: Seen | null): SeenRelation {
  if (seen === null) return 'none';
  const there = chain.digests[seen.seq];
  if (there === seen.digest) return 'contained';
  if (chain.state.forsaken.some((one) => one.seq === seen.seq && one.digest === seen.digest)) return 'contained';
  const { recovered } = chain.state;
  if (recovered !== null && seen.epoch < recovered.epoch && seen.custody <= recovered.custody) return 'contained';
  return there === undefined ? 'behind' : 'diverged';
}
