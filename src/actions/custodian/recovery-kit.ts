import { AgentError } from '../../core/errors.ts';
import type { Files } from '../../core/files.ts';
import { exportSigningKey, generateSigningKey, importSigningKey, type SigningKey } from '../../core/ssh/key.ts';
import type { RecoveryKey } from '../../ledger/record.ts';
import { generateAgeKey, isIdentity, recipientOf } from '../../store/age.ts';
import { word } from '../../core/shell.ts';

/** A new recovery key and the text of the kit that holds its secret half. */
export async function newRecoveryKit(name: string, { hybrid = false } = {}): Promise<{ readonly key: RecoveryKey; readonly text: string }> {
  const signing = generateSigningKey();
  const { identity, recipient } = await generateAgeKey({ hybrid });
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

/** The secret halves in the kit at a path; null where there is no file. Throws KIT_UNFIT where it is something else. */
export async function parseKit(files: Files, path: string): Promise<{ readonly signing: SigningKey; readonly identity: string } | null> {
  const text = (await files.readIfPresent(path))?.toString('utf8');
  if (text === undefined) return null;
  const signing = importSigningKey(text);
  const identity = /^AGE-SECRET-KEY-[0-9A-Z-]+$/m.exec(text)?.[0];
  if (signing === null || identity === undefined || !(await isIdentity(identity)))
    throw new AgentError('KIT_UNFIT', `'${path}' is no recovery kit, or a character of it is wrong; it was left as it is`, {
      hints: [{ command: `head -c 100 ${word(path)}`, effect: 'a kit begins with an OpenSSH key and ends with an age identity' }],
    });
  return { signing, identity };
}

/** The public half of the kit at a path; null where there is no file. Throws KIT_UNFIT where it is something else. */
export async function readKit(files: Files, path: string): Promise<RecoveryKey | null> {
  const kit = await parseKit(files, path);
  return kit === null ? null : { key: kit.signing.publicKey, recipient: await recipientOf(kit.identity) };
}
