import type { Digest } from '../core/digest.ts';
import type { PublicKey } from '../core/ssh/key.ts';
import type { AgentId, Epoch, InitRecord, RecoveryKey, StoreKeyEntry } from './record.ts';

/** An offer that nobody has answered. */
interface OpenOffer {
  readonly digest: Digest;
  readonly seq: number;
  readonly manifest: Digest;
  readonly target: PublicKey;
  readonly since?: Digest;
  readonly notAfter?: string;
}

/** What the ledger says of keys. */
export interface KeyState {
  readonly readers: readonly string[];
  /** Every store key that was ever opened, by id. */
  readonly storeKeys: Readonly<Record<string, StoreKeyEntry>>;
  readonly main: string | null;
  readonly secret: string | null;
  /** True where the next checkpoint must open new store keys: old readers read what they had, not the future. */
  readonly stale: boolean;
}

/** What a ledger says now: the fold of its records by `reduce`. */
export interface LedgerState {
  readonly agent: AgentId;
  readonly seq: number;
  readonly head: Digest;
  readonly epoch: Epoch;
  readonly holder: PublicKey;
  /** Whether every recipient of the agent is a hybrid one, safe from a quantum computer. */
  readonly hybrid: boolean;
  /** Hosts that held the agent before. */
  readonly former: readonly PublicKey[];
  readonly fenced: boolean;
  readonly offer: OpenOffer | null;
  /** The newest state. */
  readonly manifest: Digest | null;
  /** The record that names it. */
  readonly manifestSeq: number | null;
  readonly recovery: readonly RecoveryKey[];
  /** The records that replaced the recovery keys, oldest first. */
  readonly custody: readonly Digest[];
  /** The newest recover: what any host has seen of an older epoch counts for nothing beside it. */
  readonly recovered: { readonly epoch: number; readonly custody: readonly Digest[] } | null;
  readonly policy: InitRecord['policy'];
  readonly keys: KeyState;
  /** Records that a resume --accept-loss gave up, which may stand in another host's memory. */
  readonly forsaken: readonly { readonly seq: number; readonly digest: Digest }[];
  /** Ranges of seqs whose states were given up. */
  readonly expired: readonly (readonly [number, number])[];
  /** Pack lists of folds: which packs took the place of which. */
  readonly folded: readonly Digest[];
}
