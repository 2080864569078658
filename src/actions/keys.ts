import { AgentError } from '../core/errors.ts';
import type { RecoveryKey, StoreKeyEntry } from '../ledger/record.ts';
import { isHybrid } from '../ledger/policy.ts';
import { HYBRID_LIMIT, RECIPIENT_LIMIT, isRecipient } from '../store/age.ts';
import { refuseUncosigned } from './session/append-record.ts';
import { keyId, openStoreKeys, sealPassphrase } from '../store/envelope.ts';
import { grantFile } from '../store/layout.ts';
import { join } from 'node:path';
import type { Custodian } from './custodian/custodian.ts';
import type { Ports } from './session/ports.ts';
import { openSession, type HostSession, type Session } from './session/session.ts';
import { changeKeys, newStoreKeys } from './sealed/store-keys.ts';
import { withWriter } from './session/writer.ts';
import { identitiesOf } from '../host/home.ts';

/** Who reads an agent, and by which keys it is sealed. */
export interface KeyList {
  readonly session: Session;
  readonly holder: string;
  readonly recovery: readonly RecoveryKey[];
  readonly readers: readonly { readonly recipient: string; readonly passphrase: boolean }[];
  readonly storeKeys: readonly (StoreKeyEntry & { readonly current: boolean; readonly opens: boolean })[];
  /** Whether the next checkpoint opens new store keys. */
  readonly stale: boolean;
}

/** Lists the keys of an agent. */
export async function listKeys(ports: Ports): Promise<KeyList> {
  const session = await openSession(ports);
  const { state, host, reader } = session;
  const { readers, storeKeys, main, secret, stale } = state.keys;
  const opened = await openStoreKeys(reader, Object.values(storeKeys), identitiesOf(host));
  const names = (await reader.list('keys')).map((file) => file.name);
  return {
    session,
    holder: state.holder,
    recovery: state.recovery,
    readers: readers.map((recipient) => ({
      recipient,
      passphrase: names.some((name) => name.startsWith(`keys/${keyId(recipient)}.`)),
    })),
    storeKeys: Object.values(storeKeys).map((entry) => ({
      ...entry,
      current: entry.id === main || entry.id === secret,
      opens: opened.has(entry.id),
    })),
    stale,
  };
}

/** A change of keys that was asked for, and whether it was one. */
export interface KeyResult {
  readonly session: HostSession;
  readonly recorded: boolean;
}

/** Lets one more recipient read what is there and what comes, but for secrets. */
export async function addReader(
  ports: Ports,
  recipient: string,
  { custodian }: { readonly custodian: Custodian | undefined },
): Promise<KeyResult> {
  await checkRecipient(recipient);
  return withWriter(ports, 'keys', async (session) => {
    const { readers } = session.state.keys;
    if (readers.includes(recipient)) return { session, recorded: false };
    refuseClassic(session, recipient);
    refuseMany(session, [...readers, recipient]);
    const again = { keys: await ownKeys(session), ids: idsOf(session, 'main') };
    return { session: await changeKeys(session, { readers: [...readers, recipient], again, custodian }), recorded: true };
  });
}

/**
 * Lets whoever knows a passphrase read: the passphrase opens an age identity that lies beside the envelopes, and that
 * identity is a reader, so that no later key needs the passphrase again.
 */
export async function addPassphrase(
  ports: Ports,
  passphrase: string,
  { custodian }: { readonly custodian: Custodian | undefined },
): Promise<KeyResult & { readonly recipient: string }> {
  if (passphrase.length < 12)
    throw new AgentError('USAGE_WRONG', 'a passphrase of less than 12 characters protects nothing that can be carried away', {
      hints: [{ command: 'age-keygen -o FILE', effect: 'a key needs no passphrase; then agent keys add RECIPIENT' }],
    });
  const { hybrid } = (await openSession(ports)).state;
  const sealed = await sealPassphrase(passphrase, { hybrid });
  return withWriter(ports, 'keys', async (session) => {
    const wanted = [...session.state.keys.readers, sealed.recipient];
    refuseUncosigned(session, { kind: 'keys', readers: wanted }, custodian);
    refuseMany(session, wanted);
    await ports.files.create(join(session.control, grantFile(keyId(sealed.recipient), sealed.digest)), sealed.bytes);
    const again = { keys: await ownKeys(session), ids: idsOf(session, 'main') };
    return { session: await changeKeys(session, { readers: wanted, again, custodian }), recorded: true, recipient: sealed.recipient };
  });
}

/** Takes a reader away: what is sealed from now on does not open to it. What it had, it has. */
export async function removeReader(
  ports: Ports,
  recipient: string,
  { custodian }: { readonly custodian: Custodian | undefined },
): Promise<KeyResult> {
  return withWriter(ports, 'keys', async (session) => {
    const { readers } = session.state.keys;
    const matches = readers.filter((one) => one === recipient || (recipient.length >= 12 && one.startsWith(recipient)));
    const [found] = matches;
    if (found === undefined || matches.length > 1)
      throw new AgentError(
        'HOST_UNKNOWN',
        `'${recipient}' is ${found === undefined ? 'no reader' : 'the beginning of several readers'} of '${session.name}'`,
        {
          hints: [{ command: 'agent keys list', effect: 'lists them; nothing was changed' }],
        },
      );
    const again = { keys: await ownKeys(session), ids: idsOf(session, 'main') };
    const rest = readers.filter((one) => one !== found);
    return {
      session: await changeKeys(session, { readers: rest, again, fresh: await newStoreKeys(session.state), custodian }),
      recorded: true,
    };
  });
}

/** Opens new store keys: what is sealed from now on is sealed to them. */
export async function rotateKeys(ports: Ports): Promise<KeyResult> {
  return withWriter(ports, 'keys', async (session) => ({
    session: await changeKeys(session, { fresh: await newStoreKeys(session.state) }),
    recorded: true,
  }));
}

/** Puts another recovery key in the place of the old ones, which must sign it, and opens new store keys. */
export async function changeCustody(
  ports: Ports,
  { recovery, custodian }: { readonly recovery: RecoveryKey; readonly custodian: Custodian | undefined },
): Promise<KeyResult> {
  await checkRecipient(recovery.recipient);
  return withWriter(ports, 'keys', async (session) => {
    refuseClassic(session, recovery.recipient);
    const [only] = session.state.recovery;
    if (session.state.recovery.length === 1 && only?.key === recovery.key) return { session, recorded: false };
    const again = { keys: await ownKeys(session), ids: [...idsOf(session, 'main'), ...idsOf(session, 'secret')] };
    return {
      session: await changeKeys(session, { recovery: [recovery], again, fresh: await newStoreKeys(session.state), custodian }),
      recorded: true,
    };
  });
}

/** An agent with hybrid keys is sealed to nobody whose key a quantum computer could break. */
function refuseClassic({ state, name }: Session, recipient: string): void {
  if (!state.hybrid || isHybrid(recipient)) return;
  throw new AgentError('USAGE_WRONG', `'${name}' takes hybrid recipients only (age1pq1…)`, {
    hints: [{ command: 'age-keygen -pq', effect: 'of age 1.3 or newer makes one; nothing was changed' }],
  });
}

/** Holder, recovery keys and one target stand in an envelope beside the readers. */
function refuseMany({ state, name }: Session, readers: readonly string[]): void {
  // A header has a limit in bytes, too, and a hybrid stanza takes about 1.6 KiB of it.
  const limit = state.hybrid ? HYBRID_LIMIT : RECIPIENT_LIMIT;
  if (readers.length + state.recovery.length + 2 <= limit) return;
  throw new AgentError('READERS_EXCEEDED', `'${name}' has ${String(state.keys.readers.length)} readers, and an envelope holds no more`, {
    hints: [{ command: 'agent keys remove RECIPIENT', effect: 'makes room; nothing was changed' }],
  });
}

async function ownKeys({ reader, state, host }: HostSession): Promise<ReadonlyMap<string, string>> {
  return openStoreKeys(reader, Object.values(state.keys.storeKeys), identitiesOf(host));
}

function idsOf({ state }: Session, use: StoreKeyEntry['use']): readonly string[] {
  return Object.values(state.keys.storeKeys)
    .filter((one) => one.use === use)
    .map((one) => one.id);
}

/** Throws USAGE_WRONG where a text is no recipient that age seals to. */
export async function checkRecipient(recipient: string): Promise<void> {
  if (await isRecipient(recipient)) return;
  // Somebody may have taken the secret half for it, which is not to be shown.
  const what = recipient.startsWith('age1')
    ? `'${recipient.slice(0, 80)}' is no age recipient`
    : 'what was given is no age recipient (age1…)';
  throw new AgentError(
    'USAGE_WRONG',
    recipient.startsWith('AGE-SECRET-KEY-') ? 'that is an identity, and secret: its recipient (age1…) is wanted' : what,
    {
      hints: [{ command: 'age-keygen -y FILE', effect: 'prints the recipient (age1…) of an identity file; nothing was changed' }],
    },
  );
}
