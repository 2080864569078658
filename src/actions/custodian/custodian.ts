import { resolve } from 'node:path';
import { AgentError, type Hint } from '../../core/errors.ts';
import { parsePublicKey, type PublicKey } from '../../core/ssh/key.ts';
import { signText, unarmor, verifyText } from '../../core/ssh/signature.ts';
import { LEDGER_NAMESPACE, type RecoveryKey } from '../../ledger/record.ts';
import type { LedgerState } from '../../ledger/state.ts';
import { isIdentity } from '../../store/age.ts';
import { sshSign } from '../../providers/ssh-sign.ts';
import type { Ports } from '../session/ports.ts';
import { parseKit } from './recovery-kit.ts';
import { word } from '../../core/shell.ts';

/** Whoever has a recovery key: signs for it, and opens what is sealed to it. */
export interface Custodian {
  readonly key: PublicKey;
  /** Age identities that open what is sealed to the recovery key. */
  readonly identities: readonly string[];
  sign(text: string): Promise<string>;
}

/** How a person shows the recovery key: the kit, or a key of their own that ssh-keygen signs with, and age identities. */
export interface CustodianSource {
  readonly kit?: string | undefined;
  /** A private key file, or a public one whose private half an ssh-agent has. */
  readonly custodian?: string | undefined;
  /** A file of age identities. */
  readonly identity?: string | undefined;
}

/** Opens a recovery key; null where none is named. Throws FILE_MISSING, KIT_UNFIT. */
export async function openCustodian(ports: Ports, source: CustodianSource): Promise<Custodian | null> {
  if (source.kit !== undefined) {
    const kit = await parseKit(ports.files, resolve(ports.cwd, source.kit));
    if (kit === null) throw missing(source.kit);
    return {
      key: kit.signing.publicKey,
      identities: [kit.identity],
      sign: (text) => Promise.resolve(signText(text, { key: kit.signing, namespace: LEDGER_NAMESPACE })),
    };
  }
  if (source.custodian === undefined) return null;
  const keyFile = resolve(ports.cwd, source.custodian);
  const key = await publicKeyAt(ports, keyFile);
  return {
    key,
    identities: source.identity === undefined ? [] : await readIdentities(ports, source.identity),
    async sign(text) {
      const { status, armored, said } = await sshSign(text, { keyFile, namespace: LEDGER_NAMESPACE });
      const signature = status === 0 ? unarmor(armored) : null;
      if (signature !== null && verifyText(text, { key, namespace: LEDGER_NAMESPACE, signature })) return signature;
      throw new AgentError(
        'SIGNER_FAILED',
        `ssh-keygen did not sign with '${keyFile}': ${said === '' ? 'no signature of that key' : said}`,
        {
          hints: [
            {
              command: `ssh-add ${word(keyFile.replace(/\.pub$/, ''))}`,
              effect: 'so that the agent of ssh has the key; nothing was changed',
            },
          ],
        },
      );
    },
  };
}

/** Throws KIT_UNFIT where a key is no recovery key of the agent. */
export function checkCustodian({ recovery }: Pick<LedgerState, 'recovery'>, custodian: Custodian, name: string): void {
  if (recovery.some((one) => one.key === custodian.key)) return;
  const hints: readonly Hint[] = [
    recovery.length === 0
      ? { command: 'agent log', effect: 'shows that it began without a recovery key; nothing was changed' }
      : { command: 'agent keys list', effect: 'shows the recovery keys; nothing was changed' },
  ];
  throw new AgentError('KIT_UNFIT', `this is no recovery key of '${name}'`, { hints });
}

/** The public half of a recovery key that somebody keeps by their own means. Throws KIT_UNFIT. */
export async function custodianKey(
  ports: Ports,
  { key, recipient }: { readonly key: string; readonly recipient: string },
): Promise<RecoveryKey> {
  return { key: await publicKeyAt(ports, resolve(ports.cwd, key)), recipient };
}

/** Reads age identities, one a line; `#` begins a comment. Throws FILE_MISSING, KIT_UNFIT. */
export async function readIdentities(ports: Ports, path: string): Promise<readonly string[]> {
  const bytes = await ports.files.readIfPresent(resolve(ports.cwd, path));
  if (bytes === null) throw missing(path);
  const found: string[] = [];
  for (const line of bytes.toString('utf8').match(/^AGE-SECRET-KEY-[0-9A-Z-]+$/gm) ?? []) if (await isIdentity(line)) found.push(line);
  if (found.length === 0)
    throw new AgentError('KIT_UNFIT', `'${path}' holds no age identity that is whole`, {
      hints: [{ command: 'age-keygen -o FILE', effect: 'makes one' }],
    });
  return found;
}

async function publicKeyAt({ files }: Ports, path: string): Promise<PublicKey> {
  const own = await files.readIfPresent(path);
  if (own === null) throw missing(path);
  const text = own.toString('utf8').startsWith('ssh-') ? own : await files.readIfPresent(`${path}.pub`);
  const key = parsePublicKey(text?.toString('utf8') ?? '');
  if (key === null)
    throw new AgentError('KIT_UNFIT', `'${path}' is no Ed25519 public key of ssh, and has none beside it`, {
      hints: [{ command: `ssh-keygen -t ed25519 -f ${word(path)}`, effect: 'makes one; other kinds of keys cannot sign a ledger' }],
    });
  return key;
}

function missing(path: string): AgentError {
  return new AgentError('FILE_MISSING', `'${path}' does not exist`, {
    hints: [{ command: `ls -l ${word(path)}`, effect: 'nothing was changed' }],
  });
}
