import { join } from 'node:path';
import { sealEnvelope, generateStoreKey } from '../../store/envelope.ts';
import { envelopeFile, grantFile, kindOfFile } from '../../store/layout.ts';
import { isKeyFile } from './key-files.ts';
import type { RecoveryKey, StoreKeyEntry } from '../../ledger/record.ts';
import type { LedgerState } from '../../ledger/state.ts';
import { appendRecord, refuseUncosigned } from '../session/append-record.ts';
import { AgentError } from '../../core/errors.ts';
import type { Host } from '../../host/home.ts';
import type { Custodian } from '../custodian/custodian.ts';
import type { Use } from '../state/open-state.ts';
import type { HostSession, Session } from '../session/session.ts';

/** Store keys that the next checkpoint opens; nothing is written until they are recorded. */
export type NewStoreKeys = Readonly<Record<Use, { readonly id: string; readonly identity: string; readonly recipient: string }>>;

const USES: readonly Use[] = ['main', 'secret'];

/** Makes new store keys. */
export async function newStoreKeys({ hybrid }: Pick<LedgerState, 'hybrid'>): Promise<NewStoreKeys> {
  return { main: await generateStoreKey({ hybrid }), secret: await generateStoreKey({ hybrid }) };
}

/** Makes new store keys where the design says so: none yet, or somebody who could read may not read the future. */
export async function freshStoreKeys(state: LedgerState): Promise<NewStoreKeys | null> {
  return state.keys.stale ? newStoreKeys(state) : null;
}

/** The recipient of a host for an agent; throws KEY_UNFIT where the agent wants a hybrid one and the host has none. */
export function recipientFor(host: Host, { hybrid }: Pick<LedgerState, 'hybrid'>): string {
  if (!hybrid) return host.recipient;
  if (host.hybrid !== null) return host.hybrid.recipient;
  throw new AgentError('KEY_UNFIT', 'the agent takes hybrid keys only, and this host has none', {
    hints: [{ command: 'agent invite --pq', effect: 'makes one' }],
  });
}

/** What is to change of the keys of an agent; what is not named stays. */
export interface KeyChange {
  readonly readers?: readonly string[];
  readonly recovery?: readonly RecoveryKey[];
  /** New store keys, current from now on. */
  readonly fresh?: NewStoreKeys | undefined;
  /** Store keys that get another envelope. */
  readonly again?: Resealed;
  readonly custodian?: Custodian | undefined;
}

/** Store keys that are sealed again: their identities, which of them, and one more recipient. */
export interface Resealed {
  readonly keys: ReadonlyMap<string, string>;
  readonly ids: readonly string[];
  readonly alsoTo?: string;
}

/** Records a change of keys: the envelopes lie under their digests before the record, and in their place after it. */
export async function changeKeys(session: HostSession, change: KeyChange): Promise<HostSession> {
  const { recovery, fresh, again, custodian } = change;
  const readers = change.readers ?? session.state.keys.readers;
  refuseUncosigned(session, { kind: 'keys', readers, recovery }, custodian);
  const who: Readers = { host: recipientFor(session.host, session.state), recovery: recovery ?? session.state.recovery, readers };
  const storeKeys = again === undefined ? [] : [...(await sealAgain(session, again, who))];
  for (const use of fresh === undefined ? [] : USES) {
    const { id, identity, recipient } = (fresh as NewStoreKeys)[use];
    storeKeys.push({ id, use, recipient, envelope: await writeEnvelope(session, { id, identity, recipients: mayRead(who, use) }) });
  }
  const draft = { kind: 'keys', readers, storeKeys, ...(recovery === undefined ? {} : { recovery }) } as const;
  const after = await appendRecord(session, draft, { custodian });
  await settleEnvelopes(after);
  return after;
}

/** Writes further envelopes of store keys, for a record that is to name them. */
export async function sealAgain(session: HostSession, { keys, ids, alsoTo }: Resealed, who: Readers): Promise<readonly StoreKeyEntry[]> {
  const storeKeys: StoreKeyEntry[] = [];
  for (const id of ids) {
    const entry = session.state.keys.storeKeys[id];
    const identity = keys.get(id);
    if (entry === undefined || identity === undefined) continue;
    const recipients = [...mayRead(who, entry.use), ...(alsoTo === undefined ? [] : [alsoTo])];
    storeKeys.push({ ...entry, envelope: await writeEnvelope(session, { id, identity, recipients }) });
  }
  return storeKeys;
}

/** Those who may read an agent. */
export interface Readers {
  /** Recipient of the holder. */
  readonly host: string;
  readonly recovery: readonly RecoveryKey[];
  readonly readers: readonly string[];
}

/** The readers of what is sealed now. */
export function readersOf({ host, state }: Pick<HostSession, 'host' | 'state'>, use: Use): readonly string[] {
  return mayRead({ host: recipientFor(host, state), recovery: state.recovery, readers: state.keys.readers }, use);
}

/** The holder, the recovery keys and, but for secrets, the readers. */
function mayRead({ host, recovery, readers }: Readers, use: Use): readonly string[] {
  return [host, ...recovery.map((one) => one.recipient), ...(use === 'main' ? readers : [])];
}

/**
 * Puts each envelope that the ledger names where it belongs. A crash between the ledger's record and this leaves the new
 * envelope under its own digest and the old one in place, and both open. What a change of keys left that did not come to its
 * record is of a key that nothing is sealed to, and goes.
 */
export async function settleEnvelopes({ ports, control, state }: Session): Promise<void> {
  const { files } = ports;
  const names = await files.list(join(control, 'keys'));
  for (const { id, envelope } of Object.values(state.keys.storeKeys)) {
    const grant = grantFile(id, envelope);
    if (names.includes(grant.slice('keys/'.length))) await files.rename(join(control, grant), join(control, envelopeFile(id)));
  }
  for (const name of names)
    if (kindOfFile(`keys/${name}`) === 'grant' && !isKeyFile(state, name.slice(0, 16))) await files.remove(join(control, 'keys', name));
}

/** Writes an envelope under its own digest: the one in place must stay until the ledger names the new one. */
async function writeEnvelope(
  { ports, control }: HostSession,
  { id, identity, recipients }: { readonly id: string; readonly identity: string; readonly recipients: readonly string[] },
): Promise<StoreKeyEntry['envelope']> {
  const { bytes, digest } = await sealEnvelope(identity, recipients);
  await ports.files.create(join(control, grantFile(id, digest)), bytes);
  return digest;
}
