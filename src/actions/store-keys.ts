import { join } from 'node:path';
import { sealEnvelope, generateStoreKey } from '../store/envelope.ts';
import { envelopeFile, grantFile } from '../store/layout.ts';
import type { StoreKeyEntry } from '../ledger/record.ts';
import type { LedgerState } from '../ledger/state.ts';
import { appendRecord } from './append-record.ts';
import type { Use } from './open-state.ts';
import type { HostSession, Session } from './session.ts';

/** Store keys that the next checkpoint opens; nothing is written until `recordStoreKeys`. */
export type NewStoreKeys = Readonly<Record<Use, { readonly id: string; readonly identity: string; readonly recipient: string }>>;

/** Makes new store keys where the design says so: none yet, or somebody who could read may not read the future. */
export async function freshStoreKeys(state: LedgerState): Promise<NewStoreKeys | null> {
  if (!state.keys.stale) return null;
  return { main: await generateStoreKey(), secret: await generateStoreKey() };
}

/** Seals the new keys to those who may read and names their envelopes in the ledger. */
export async function recordStoreKeys(session: HostSession, keys: NewStoreKeys): Promise<HostSession> {
  const storeKeys: StoreKeyEntry[] = [];
  for (const use of ['main', 'secret'] as const) {
    const { id, identity, recipient } = keys[use];
    storeKeys.push({ id, use, recipient, envelope: await writeEnvelope(session, { id, identity, recipients: readersOf(session, use) }) });
  }
  const after = await appendRecord(session, { kind: 'keys', readers: session.state.keys.readers, storeKeys });
  await settleEnvelopes(after);
  return after;
}

/** Seals main store keys to one more recipient, the target of an offer, and names the new envelopes in the ledger. */
export async function shareStoreKeys(
  session: HostSession,
  { keys, ids, recipient }: { readonly keys: ReadonlyMap<string, string>; readonly ids: readonly string[]; readonly recipient: string },
): Promise<HostSession> {
  const storeKeys: StoreKeyEntry[] = [];
  for (const id of ids) {
    const entry = session.state.keys.storeKeys[id];
    const identity = keys.get(id);
    if (entry?.use !== 'main' || identity === undefined) continue;
    storeKeys.push({
      ...entry,
      envelope: await writeEnvelope(session, { id, identity, recipients: [...readersOf(session, 'main'), recipient] }),
    });
  }
  const after = await appendRecord(session, { kind: 'keys', readers: session.state.keys.readers, storeKeys });
  await settleEnvelopes(after);
  return after;
}

/** Those who may read what is sealed now: the holder, the recovery keys and, but for secrets, the readers. */
export function readersOf({ host, state }: Pick<HostSession, 'host' | 'state'>, use: Use): readonly string[] {
  return [host.recipient, ...state.recovery.map((one) => one.recipient), ...(use === 'main' ? state.keys.readers : [])];
}

/**
 * Puts each envelope that the ledger names where it belongs. A crash between the ledger's record and this leaves the new
 * envelope under its own digest and the old one in place, and both open.
 */
export async function settleEnvelopes({ ports, control, state }: Session): Promise<void> {
  const { files } = ports;
  const names = await files.list(join(control, 'keys'));
  for (const { id, envelope } of Object.values(state.keys.storeKeys)) {
    const grant = grantFile(id, envelope);
    if (names.includes(grant.slice('keys/'.length))) await files.rename(join(control, grant), join(control, envelopeFile(id)));
  }
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
