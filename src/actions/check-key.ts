import { digestOf } from '../core/digest.ts';
import { AgentError, isAgentError } from '../core/errors.ts';
import type { LedgerState } from '../ledger/state.ts';
import { keyId, openPassphrase, openStoreKeys } from '../store/envelope.ts';
import { digestInName } from '../store/layout.ts';
import type { StoreReader } from '../store/reader.ts';
import { withBundle, type Input } from './bundle/bundle.ts';
import { checkOpened, checkSealed } from './state/check-store.ts';
import { openCustodian, readIdentities, type CustodianSource } from './custodian/custodian.ts';
import { identitiesOf, loadHost } from '../host/home.ts';
import type { Ports } from './session/ports.ts';
import { findRoot } from './session/session.ts';

/** What a key opens of the newest complete state. */
export interface KeyCheck {
  readonly subject: string;
  readonly seq: number;
  readonly packs: number;
  /** Packs that it does not open: those of secrets, or of an older or newer store key. */
  readonly closed: number;
  readonly files: number;
  /** Whether it opens the secrets; null where there are none. */
  readonly secrets: boolean | null;
}

/** By which key to open: an identity file, a recovery key, a passphrase; else this host's own. */
export interface KeySource extends CustodianSource {
  readonly passphrase?: string | undefined;
}

/**
 * Proves that a key opens the newest state of a root or a bundle: every pack that it should open is decrypted and every
 * chunk of the tree found. Throws KEY_UNFIT where it opens nothing of it.
 */
export async function checkKey(
  ports: Ports,
  { path, input, key }: { readonly path: string | null; readonly input: Input; readonly key: KeySource },
): Promise<KeyCheck> {
  return withBundle(ports, { path: path ?? (await findRoot(ports)), input }, async ({ reader, chain }) => {
    const ledger = chain.state;
    const identities = await givenIdentities(ports, { key, reader, ledger });
    const { newest, findings } = await checkSealed(reader, chain, ports);
    const [bad] = findings.filter((one) => one.code !== 'BUNDLE_INCOMPLETE');
    if (newest === null || bad !== undefined)
      throw new AgentError('BUNDLE_DAMAGED', `'${reader.name}': ${bad?.subject ?? 'it holds no checkpoint'}`, {
        hints: [{ command: 'agent verify BUNDLE', effect: 'lists all; nothing was changed' }],
      });
    const opened = await openStoreKeys(reader, Object.values(ledger.keys.storeKeys), identities);
    const state = await checkOpened({ readers: [reader], ledger, manifest: newest.manifest, identities, threads: ports.threads }).catch(
      (error: unknown) => {
        if (!isAgentError(error) || error.code !== 'KEY_UNFIT') throw error;
        throw new AgentError('KEY_UNFIT', `the key opens nothing of record ${String(newest.seq)} of '${reader.name}'`, {
          hints: [{ command: 'agent keys list', effect: 'shows whose keys do, in the agent itself; nothing was changed' }],
        });
      },
    );
    return {
      subject: reader.name,
      seq: newest.seq,
      packs: state.packs.length,
      closed: state.packs.filter((pack) => !opened.has(pack.key)).length,
      files: state.facts.coverage.included,
      secrets: state.manifest.secrets === undefined ? null : !state.secretsSealed,
    };
  });
}

async function givenIdentities(
  ports: Ports,
  { key, reader, ledger }: { readonly key: KeySource; readonly reader: StoreReader; readonly ledger: LedgerState },
): Promise<readonly string[]> {
  if (key.passphrase !== undefined) return openPassphrases(reader, ledger, key.passphrase);
  const custodian = await openCustodian(ports, key);
  if (custodian !== null) return custodian.identities;
  if (key.identity !== undefined) return readIdentities(ports, key.identity);
  const host = await loadHost(ports.files, ports.hostDirectory, ports.machine);
  return identitiesOf(host);
}

/** The identities of readers that lie beside the envelopes under a passphrase. Each try costs much memory and time. */
async function openPassphrases(reader: StoreReader, { keys }: LedgerState, passphrase: string): Promise<readonly string[]> {
  const found: string[] = [];
  const ids = new Set(keys.readers.map(keyId));
  for (const { name } of await reader.list('keys')) {
    const id = /^keys\/([0-9a-f]{16})\.[0-9a-f]{64}\.age$/.exec(name)?.[1];
    if (id === undefined || !ids.delete(id)) continue;
    const bytes = (await reader.read(name)) ?? Buffer.alloc(0);
    if (digestOf(bytes) !== digestInName(name)) continue;
    const identity = await openPassphrase(bytes, passphrase);
    if (identity !== null) found.push(identity);
  }
  return found;
}
