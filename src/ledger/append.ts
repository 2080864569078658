import type { Digest } from '../core/digest.ts';

/**
 * The order in which a record becomes part of an agent. `pending`: the whole signed record lies in the host's memory, so
 * that a crash leaves these bytes and no others to go on with. `claim`: of two writers on one root one gets the seq.
 * `append`: the ledger has it. `settle`: last seen moves and pending clears. Nothing that speaks of the record (a reply,
 * a line on stdout) may come before `settle`.
 */
export const APPEND_ORDER = ['pending', 'claim', 'append', 'settle'] as const;

/** The effects of the four steps; the commands give durable ones, the exhaustive search gives a model. */
export type AppendSteps<Result> = Readonly<Record<(typeof APPEND_ORDER)[number], () => Result>>;

/** What is to be done with a pending record that a crash left. */
export type PendingOutcome = 'none' | 'append' | 'settle' | 'lost';

/** Decides how a pending record goes on: it is appended where the chain ends at its parent, settled where the chain has it. */
export function pendingOutcome(
  chain: { readonly digests: readonly Digest[] },
  pending: { readonly seq: number; readonly prev: Digest | undefined; readonly digest: Digest } | null,
): PendingOutcome {
  if (pending === null) return 'none';
  if (chain.digests[pending.seq] === pending.digest) return 'settle';
  return chain.digests.length === pending.seq && chain.digests.at(-1) === pending.prev ? 'append' : 'lost';
}
