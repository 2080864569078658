import { AgentError } from '../core/errors.ts';
import type { Digest } from '../core/digest.ts';
import type { PublicKey } from '../core/ssh/key.ts';
import { CONDITIONS, actionOf, type Condition } from './conditions.ts';
import { keysAfter, withStoreKeys } from './keys.ts';
import { isHybrid, mustBeCosigned, recipientsOf } from './policy.ts';
import { damaged, type AgentId, type Epoch, type InitRecord, type LedgerRecord, type RecoverRecord } from './record.ts';
import type { LedgerState } from './state.ts';

type LaterRecord = Exclude<LedgerRecord, InitRecord>;

/** A record and its digest: what the fold needs, signed or not. */
export interface Entry {
  readonly record: LedgerRecord;
  readonly digest: Digest;
  /** Whose signatures it carries beside that of `by`. */
  readonly cosigners?: readonly PublicKey[];
}

/** Which fold this is: a state that another one made is not gone on from. Changes with LedgerState and with what `reduce` does. */
export const REDUCER = 1;

/** A recover outranks so many changes of who may act, made on branches that nobody told it of. */
const RECOVER_EPOCHS = 65_536;

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
  const broken = conditions.find((one) => one.proof !== 'host' && one.actions.includes(action) && !one.holds(state, signer));
  if (broken !== undefined) throw damaged(`${subject} was signed by a host that might not (${broken.name})`);
  if (state.hybrid && !recipientsOf(record).every(isHybrid)) throw damaged(`${subject} names a recipient that is not hybrid`);
  const cosigners = entry.cosigners ?? [];
  if (cosigners.some((key) => !state.recovery.some((one) => one.key === key)))
    throw damaged(`${subject} has a second signature by a key that is no recovery key`);
  if (mustBeCosigned(state, record) !== cosigners.length > 0)
    throw damaged(
      `${subject} ${cosigners.length > 0 ? 'has a second signature that nothing asks for' : 'lacks the signature of a recovery key'}`,
    );
  return { ...effect(state, record, digest), seq: record.seq, head: digest, epoch: record.epoch };
}

/** The epoch that a record must carry: one more wherever who may act changes, far more where a human decides it. */
export function epochAfter(
  state: LedgerState,
  record: {
    readonly kind: LaterRecord['kind'];
    readonly asserted?: string | undefined;
    readonly dropped?: RecoverRecord['dropped'] | undefined;
  },
): Epoch {
  if (record.kind === 'recover')
    return (Math.max(state.epoch, ...(record.dropped ?? []).map((one) => one.epoch)) + RECOVER_EPOCHS) as Epoch;
  const moves = record.kind === 'promote' || (record.kind === 'resume' && record.asserted !== undefined);
  return (state.epoch + (moves ? 1 : 0)) as Epoch;
}

function begin(record: InitRecord, digest: Digest): LedgerState {
  const hybrid = isHybrid(record.recipient);
  if (hybrid && !recipientsOf(record).every(isHybrid)) throw damaged('its first record mixes hybrid recipients with others');
  if (record.epoch !== 1) throw damaged('its first record has an epoch other than 1');
  if (record.policy.cosigned.length > 0 && record.recovery.length === 0)
    throw damaged('its policy asks for the signature of a recovery key, and there is none');
  return {
    agent: digest as AgentId,
    seq: 0,
    head: digest,
    epoch: record.epoch,
    holder: record.by,
    former: [],
    hybrid,
    fenced: false,
    offer: null,
    manifest: null,
    manifestSeq: null,
    recovery: record.recovery,
    custody: [],
    recovered: null,
    policy: record.policy,
    forsaken: [],
    expired: [],
    folded: [],
    keys: { readers: [], storeKeys: {}, main: null, secret: null, stale: true },
  };
}

function effect(state: LedgerState, record: LaterRecord, digest: Digest): LedgerState {
  switch (record.kind) {
    case 'keys':
      return {
        ...state,
        keys: keysAfter(state.keys, record),
        ...(record.recovery === undefined ? {} : { recovery: record.recovery, custody: [...state.custody, digest] }),
      };
    case 'checkpoint':
    case 'restore':
      return { ...state, manifest: record.manifest, manifestSeq: record.seq };
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
    case 'decline':
    case 'revoke': {
      if (state.offer?.digest !== record.offer) throw damaged(`record ${String(record.seq)} answers an offer that is not open`);
      const closed = { ...state, offer: null, fenced: false, keys: { ...state.keys, stale: true } };
      if (record.kind !== 'promote') return closed;
      return { ...closed, ...heldBy(state, record.by) };
    }
    case 'recover':
      return {
        ...state,
        ...heldBy(state, record.holder),
        offer: null,
        fenced: false,
        manifest: record.manifest,
        manifestSeq: record.seq,
        keys: { ...withStoreKeys(state.keys, record), stale: true },
        recovered: { epoch: record.epoch, custody: state.custody },
      };
    case 'gc':
      for (const [from, to] of record.expired) {
        const newest = state.manifestSeq ?? -1;
        if (from > to || to >= record.seq || (from <= newest && newest <= to))
          throw damaged(`record ${String(record.seq)} gives up states that it may not`);
      }
      return { ...state, expired: [...state.expired, ...record.expired], folded: record.folded };
    case 'resume':
      return { ...state, fenced: false, forsaken: record.forsaken === undefined ? state.forsaken : [...state.forsaken, record.forsaken] };
    default:
      throw new AgentError('INTERNAL', 'a record of an unknown kind passed its schema');
  }
}

function heldBy(state: LedgerState, holder: PublicKey): Pick<LedgerState, 'holder' | 'former'> {
  return { holder, former: [...state.former, state.holder].filter((key, at, all) => key !== holder && all.indexOf(key) === at) };
}
