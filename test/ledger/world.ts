import type { Digest } from '../../src/core/digest.ts';
import type { PublicKey } from '../../src/core/ssh/key.ts';
import { APPEND_ORDER } from '../../src/ledger/append.ts';
import { CONDITIONS, type Condition } from '../../src/ledger/conditions.ts';
import type { Epoch, LedgerRecord } from '../../src/ledger/record.ts';
import { reduce, type Entry } from '../../src/ledger/reduce.ts';
import type { Seen } from '../../src/ledger/seen.ts';
import type { LedgerState } from '../../src/ledger/state.ts';

/**
 * A world of three hosts, in which every ledger that ever lay in a root can lie in any root of any host again at any time
 * (rsync, cp, a bundle, a restored directory), every memory of a host can be restored, and every append can be cut
 * between its steps. It calls the program's own reduce, decide, standingOf, compareSeen and APPEND_ORDER.
 */
export const HOSTS = ['A', 'B', 'C'] as const;
export type HostName = (typeof HOSTS)[number];
/** Two directories a host, so that one can be a copy of the other. */
export const SLOTS = [0, 1] as const;

export interface Memory {
  readonly seen: Seen | null;
  /** The pending record, and whether the host directory is still the one in which it was signed. */
  readonly pending: { readonly entry: Entry; readonly slot: number; readonly home: 'same' | 'restored' } | null;
  readonly registered: number | null;
  /** Whether the host directory is the one that it remembers to be. */
  readonly self: 'same' | 'restored';
}

export interface World {
  /** Every ledger that ever was in some root, as the digest of its newest record. */
  readonly media: readonly string[];
  readonly memories: Readonly<Record<HostName, Memory>>;
  /** Earlier memories of each host, which can be restored. */
  readonly past: Readonly<Record<HostName, readonly Memory[]>>;
  /** What is true: the newest record that somebody entitled signed, and whether it stopped the agent. */
  readonly truth: { readonly head: string; readonly stopped: boolean };
  /**
   * Hosts of which a person said, by a revoke or a recover, that they are off: the record that says so. Such a host does
   * nothing until it has seen that record; that is what the person promised.
   */
  readonly off: Readonly<Record<HostName, string | null>>;
}

/** What an experiment changes in the program's rules. */
export interface Rules {
  readonly conditions: readonly Condition[];
  /** Records past the first. */
  readonly records: number;
  readonly order: readonly (typeof APPEND_ORDER)[number][];
  /** Parts of the world that a smaller one leaves out, so that it can be visited to its end. */
  readonly restores: boolean;
  readonly checkpoints: boolean;
  readonly custody: boolean;
}

export const RULES: Rules = { conditions: CONDITIONS, records: 5, order: APPEND_ORDER, restores: true, checkpoints: true, custody: false };

export interface Move {
  readonly name: string;
  readonly world: World;
}

export interface Chain {
  readonly state: LedgerState;
  readonly digests: readonly Digest[];
}

/** Records by digest, shared by all worlds: a record's digest is its history. */
export const entries = new Map<string, Entry>();
const chains = new WeakMap<Rules['conditions'], Map<string, Chain | null>>();

export const RECOVERY = 'R' as unknown as PublicKey;
export const key = (host: HostName): PublicKey => host as unknown as PublicKey;

export function firstWorld(): World {
  const record = {
    format: 'perdure-ledger/1',
    kind: 'init',
    seq: 0,
    epoch: 1 as Epoch,
    by: key('A'),
    at: '',
    recipient: '',
    nonce: '',
    recovery: [{ key: RECOVERY, recipient: '' }],
    policy: { cosigned: [] },
  } as LedgerRecord;
  const entry = { record, digest: 'i' as Digest };
  entries.set('i', entry);
  const fresh: Memory = { seen: null, pending: null, registered: null, self: 'same' };
  const holder: Memory = { ...fresh, seen: { seq: 0, digest: entry.digest, epoch: 1, offered: false }, registered: 0 };
  return {
    media: ['i'],
    memories: { A: holder, B: fresh, C: fresh },
    past: { A: [], B: [], C: [] },
    truth: { head: 'i', stopped: false },
    off: { A: null, B: null, C: null },
  };
}

export function restored(memory: Memory): Memory {
  return { ...memory, self: 'restored', pending: memory.pending === null ? null : { ...memory.pending, home: 'restored' } };
}

export function chainOf(head: string, rules: Rules): Chain | null {
  const folded = chains.get(rules.conditions) ?? new Map<string, Chain | null>();
  chains.set(rules.conditions, folded);
  const known = folded.get(head);
  if (known !== undefined) return known;
  const entry = entries.get(head);
  if (entry === undefined) throw new Error(`no record ${head}`);
  let chain: Chain | null = null;
  const { record } = entry;
  const before = record.kind === 'init' ? null : chainOf(record.prev, rules);
  try {
    chain = { state: reduce(before?.state ?? null, entry, rules.conditions), digests: [...(before?.digests ?? []), entry.digest] };
  } catch {
    chain = null;
  }
  folded.set(head, chain);
  return chain;
}

export function withMedia(world: World, head: string): World {
  return world.media.includes(head) ? world : { ...world, media: [...world.media, head].sort() };
}

export function withMemory(world: World, host: HostName, memory: Memory, truth = world.truth): World {
  const old = world.memories[host];
  const known = world.past[host].some((one) => memoryKey(one) === memoryKey(old));
  return {
    ...world,
    truth,
    memories: { ...world.memories, [host]: memory },
    past: known ? world.past : { ...world.past, [host]: [...world.past[host], old].sort((a, b) => (memoryKey(a) < memoryKey(b) ? -1 : 1)) },
  };
}

const memoryKeys = new WeakMap<Memory, string>();

function memoryKey(memory: Memory): string {
  const known = memoryKeys.get(memory);
  if (known !== undefined) return known;
  const { seen, pending, registered, self } = memory;
  const name = `${seen?.digest ?? '-'} ${pending === null ? '-' : `${pending.entry.digest}@${String(pending.slot)}${pending.home}`} ${String(registered)} ${self}`;
  memoryKeys.set(memory, name);
  return name;
}

/** Names a world; worlds with the same name go on alike. */
export function worldKey({ media, memories, past, truth, off }: World, { restores }: Rules): string {
  const known = HOSTS.map((host) => `${memoryKey(memories[host])}${restores ? `|${past[host].map(memoryKey).join()}` : ''}`);
  return [media.join(), ...known, truth.head, String(truth.stopped), HOSTS.map((host) => off[host] ?? '-').join()].join('\n');
}
