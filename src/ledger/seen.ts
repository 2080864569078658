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
  /** The record that had replaced the recovery keys last, where one had. */
  readonly custody?: Digest;
}

/** What a host remembers after the state. */
export function seenOf(state: LedgerState): Seen {
  const custody = state.custody.at(-1);
  const seen = { seq: state.seq, digest: state.head, epoch: state.epoch, offered: state.offer !== null };
  return custody === undefined ? seen : { ...seen, custody };
}

/**
 * Compares a chain with what a host remembers: it contains the remembered record (or a later resume gave exactly that
 * record up, or a recover outranks it), or it ends before, or it went another way. A recover outranks only where its ledger has
 * the replacement of recovery keys that the host knows of: whoever stole an old kit and an old backup has no agent, nor by
 * replacing the keys there once more.
 */
export function compareSeen(chain: { readonly digests: readonly Digest[]; readonly state: LedgerState }, seen: Seen | null): SeenRelation {
  if (seen === null) return 'none';
  // Most often it is the newest; then no other record has to be read.
  if (seen.seq === chain.state.seq && seen.digest === chain.state.head) return 'contained';
  const there = chain.digests[seen.seq];
  if (there === seen.digest) return 'contained';
  if (chain.state.forsaken.some((one) => one.seq === seen.seq && one.digest === seen.digest)) return 'contained';
  const { recovered } = chain.state;
  const known = seen.custody === undefined || recovered?.custody.includes(seen.custody) === true;
  if (recovered !== null && seen.epoch < recovered.epoch && known) return 'contained';
  return there === undefined ? 'behind' : 'diverged';
}
