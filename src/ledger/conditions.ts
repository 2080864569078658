import type { PublicKey } from '../core/ssh/key.ts';
import type { LedgerRecord } from './record.ts';
import type { LedgerState } from './state.ts';

/** What a host may want to do with an agent. */
export type Action =
  | 'act'
  | 'checkpoint'
  | 'keys'
  | 'fence'
  | 'offer'
  | 'promote'
  | 'decline'
  | 'resume'
  | 'resume-here'
  | 'accept-loss'
  | 'restore'
  | 'gc'
  | 'revoke'
  | 'recover';

/** How the ledger at hand stands to the newest record that this host remembers. */
export type SeenRelation = 'none' | 'contained' | 'behind' | 'diverged';

/** How the root at hand stands to the one that this host registered. */
export type RootRelation = 'registered' | 'renamed' | 'elsewhere' | 'unknown';

/** What a host knows of itself and of the root at hand when it decides. */
export interface HostView {
  readonly key: PublicKey;
  /** Whether machine, account and key file are the ones that this host remembers of itself. */
  readonly self: 'same' | 'cloned' | 'restored';
  readonly root: RootRelation;
  readonly seen: SeenRelation;
  /** Epoch of the remembered record. */
  readonly seenEpoch: number;
  /** Whether an offer was open at the remembered record. */
  readonly seenOffered: boolean;
}

/** One condition of the right to do something. */
export interface Condition {
  readonly name: 'seen' | 'holder' | 'unoffered' | 'target' | 'unfenced' | 'lossEpoch' | 'lossOffer' | 'self' | 'root' | 'custody';
  /**
   * Who can check it: any reader of the chain and the host (a record that breaks it is no record); the host alone; or any
   * reader of the chain, by the signature, which a host that decides has not got yet.
   */
  readonly proof: 'chain' | 'host' | 'signer';
  readonly actions: readonly Action[];
  readonly holds: (state: LedgerState, host: HostView) => boolean;
}

const HOLDER_ACTIONS: readonly Action[] = [
  'act',
  'checkpoint',
  'keys',
  'fence',
  'offer',
  'resume',
  'resume-here',
  'accept-loss',
  'restore',
  'gc',
];

/**
 * The conditions of design §3, gravest first. `reduce` holds every record to those that the chain proves, `decide` holds
 * this host to all; the exhaustive search shows that none can be spared.
 */
export const CONDITIONS: readonly Condition[] = [
  {
    name: 'seen',
    proof: 'host',
    actions: HOLDER_ACTIONS.filter((action) => action !== 'accept-loss').concat('promote', 'decline', 'revoke'),
    holds: (_, host) => host.seen === 'contained' || host.seen === 'none',
  },
  { name: 'lossOffer', proof: 'host', actions: ['accept-loss'], holds: (_, host) => !host.seenOffered && host.seen === 'behind' },
  { name: 'lossEpoch', proof: 'host', actions: ['accept-loss'], holds: (state, host) => host.seenEpoch === state.epoch },
  { name: 'target', proof: 'chain', actions: ['promote', 'decline'], holds: (state, host) => state.offer?.target === host.key },
  { name: 'holder', proof: 'chain', actions: HOLDER_ACTIONS, holds: (state, host) => state.holder === host.key },
  { name: 'unoffered', proof: 'chain', actions: HOLDER_ACTIONS, holds: (state) => state.offer === null },
  {
    name: 'self',
    proof: 'host',
    actions: HOLDER_ACTIONS.filter((action) => action !== 'resume-here').concat('promote', 'decline', 'revoke'),
    holds: (_, host) => host.self === 'same',
  },
  {
    name: 'root',
    proof: 'host',
    actions: HOLDER_ACTIONS.filter((action) => action !== 'resume-here').concat('revoke'),
    holds: (_, host) => host.root === 'registered' || host.root === 'renamed',
  },
  { name: 'unfenced', proof: 'chain', actions: ['act'], holds: (state) => !state.fenced },
  {
    name: 'custody',
    proof: 'signer',
    actions: ['revoke', 'recover'],
    holds: (state, host) => state.recovery.some((one) => one.key === host.key),
  },
];

/** The action whose conditions a record must meet. */
export function actionOf(record: Exclude<LedgerRecord, { kind: 'init' }>): Action {
  if (record.kind !== 'resume' || record.asserted === undefined) return record.kind;
  return record.asserted === 'here' ? 'resume-here' : 'accept-loss';
}
