import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { exportSigningKey, generateSigningKey, importSigningKey, type PublicKey } from '../core/ssh/key.ts';
import { generateAgeKey, recipientOf } from '../store/age.ts';

/** The public half of a recovery key, as the ledger names it. */
export interface RecoveryKey {
  readonly key: PublicKey;
  readonly recipient: string;
}

/** A new recovery key and the text of the kit that holds its secret half. */
export async function newRecoveryKit(name: string): Promise<{ readonly key: RecoveryKey; readonly text: string }> {
  const signing = generateSigningKey();
  const { identity, recipient } = await generateAgeKey();
  const text = [
    exportSigningKey(signing, `recovery of ${name}`).trimEnd(),
    `# Recovery kit of the agent '${name}'. Keep it offline: whoever has it reads the agent and may take it over.`,
    `# ssh-keygen signs with this file as it is; the line below opens every envelope with age (age -d -i).`,
    `# ${signing.publicKey}`,
    `# ${recipient}`,
    identity,
    '',
  ].join('\n');
  return { key: { key: signing.publicKey, recipient }, text };
}

/** Reads the public half of the kit at a path; null where there is no file. Throws KIT_EXISTS where it is something else. */
export async function readKit(files: Files, path: string): Promise<RecoveryKey | null> {
  const text = (await files.readIfPresent(path))?.toString('utf8');
  if (text === undefined) return null;
  const signing = importSigningKey(text);
  const identity = /^AGE-SECRET-KEY-1[0-9A-Z]+$/m.exec(text)?.[0];
  if (signing === null || identity === undefined)
    throw new AgentError('KIT_EXISTS', `'${path}' exists and is no recovery kit; it was left as it is`);
  return { key: signing.publicKey, recipient: await recipientOf(identity) };
}
