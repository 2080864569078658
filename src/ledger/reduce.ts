import { AgentError } from '../core/errors.ts';
import type { Digest } from '../core/digest.ts';
import { CONDITIONS, actionOf, type Condition } from './conditions.ts';
import { damaged, type AgentId, type Epoch, type InitRecord, type KeysRecord, type LedgerRecord } from './record.ts';
import type { KeyState, LedgerState } from './state.ts';

type LaterRecord = Exclude<LedgerRecord, InitRecord>;

/** A record and its digest: what the fold needs, signed or not. */
export interface Entry {
  readonly record: LedgerRecord;
  readonly digest: Digest;
}

/**
 * Folds one record into the state; throws LEDGER_DAMAGED where the record does not continue the chain, or where whoever
 * signed it had no right to. `null` is the state before the first record.
 */
export function reduce(state: LedgerState | null, entry: Entry, conditions: readonly Condition[] = CONDITIONS): LedgerState {
  const { record, digest } = entry;
  if (state === null) {
    if (record.kind !== 'init' || record.seq !== 0) throw damaged('it does not begin with an init record');
    return begin(record, digest);
  }
  if (record.kind === 'init') throw damaged(`record ${String(record.seq)} begins another agent`);
  const subject = `record ${String(record.seq)} (${record.kind})`;
  if (record.prev !== state.head || record.seq !== state.seq + 1) throw damaged(`${subject} does not follow record ${String(state.seq)}`);
  if (record.agent !== state.agent) throw damaged(`${subject} is of another agent`);
  if (record.epoch !== epochAfter(state, record)) throw damaged(`${subject} has the wrong epoch`);
  const action = actionOf(record);
  const signer = { key: record.by, self: 'same', root: 'registered', seen: 'contained', seenEpoch: 0, seenOffered: false } as const;
  const broken = conditions.find((one) => one.proof === 'chain' && one.actions.includes(action) && !one.holds(state, signer));
  if (broken !== undefined) throw damaged(`${subject} was signed by a host that might not (${broken.name})`);
  return { ...effect(state, record, digest), seq: record.seq, head: digest, epoch: record.epoch };
}

/** The epoch that a record must carry: one more wherever who may act changes. */
export function epochAfter(
  state: LedgerState,
  record: { readonly kind: LaterRecord['kind']; readonly asserted?: string | undefined },
): Epoch {
  const moves = record.kind === 'promote' || (record.kind === 'resume' && record.asserted !== undefined);
  return (state.epoch + (moves ? 1 : 0)) as Epoch;
}

function begin(record: InitRecord, digest: Digest): LedgerState {
  if (record.epoch !== 1) throw damaged('its first record has an epoch other than 1');
  if (record.policy.cosigned.length > 0)
    throw new AgentError('FORMAT_UNSUPPORTED', 'the policy asks for second signatures, which this program does not check yet');
  return {
    agent: digest as AgentId,
    seq: 0,
    head: digest,
    epoch: record.epoch,
    holder: record.by,
    former: [],
    fenced: false,
    offer: null,
    manifest: null,
    recovery: record.recovery,
    policy: record.policy,
    forsaken: [],
    keys: { readers: [], storeKeys: {}, main: null, secret: null, stale: true },
  };
}

function effect(state: LedgerState, record: LaterRecord, digest: Digest): LedgerState {
  switch (record.kind) {
    case 'keys':
      return { ...state, keys: keysAfter(state.keys, record) };
    case 'checkpoint':
      return { ...state, manifest: record.manifest };
    case 'fence':
      return { ...state, fenced: true };
    case 'offer':
      return {
        ...state,
        fenced: true,
        offer: {
          digest,
          seq: record.seq,
          manifest: record.manifest,
          target: record.target,
          ...(record.since === undefined ? {} : { since: record.since }),
          ...(record.notAfter === undefined ? {} : { notAfter: record.notAfter }),
        },
      };
    case 'promote':
    case 'decline': {
      if (state.offer?.digest !== record.offer) throw damaged(`record ${String(record.seq)} answers an offer that is not open`);
      const closed = { ...state, offer: null, fenced: false, keys: { ...state.keys, stale: true } };
      if (record.kind === 'decline') return closed;
      return {
        ...closed,
        holder: record.by,
        former: [...state.former.filter((key) => key !== state.holder && key !== record.by), state.holder],
      };
    }
    case 'resume':
      return { ...state, fenced: false, forsaken: record.forsaken === undefined ? state.forsaken : [...state.forsaken, record.forsaken] };
    default:
      throw new AgentError('INTERNAL', 'a record of an unknown kind passed its schema');
  }
}

function keysAfter(keys: KeyState, record: KeysRecord): KeyState {
  const storeKeys = { ...keys.storeKeys };
  let { main, secret, stale } = keys;
  for (const entry of record.storeKeys) {
    const old = storeKeys[entry.id];
    if (old !== undefined && (old.recipient !== entry.recipient || old.use !== entry.use))
      throw damaged(`record ${String(record.seq)} changes store key ${entry.id}`);
    storeKeys[entry.id] = entry;
    // A key that was sealed to one more is no key for the future, whether or not an offer follows.
    stale = old !== undefined;
    if (old !== undefined) continue;
    if (entry.use === 'main') main = entry.id;
    else secret = entry.id;
  }
  return { readers: record.readers, storeKeys, main, secret, stale };
}
