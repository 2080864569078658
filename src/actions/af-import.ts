import { isUtf8 } from 'node:buffer';
import { stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AgentError } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import { takeApart, type TakenApart } from '../letta/take-apart.ts';
import { refuseShort } from './bundle/target.ts';
import { isRoot } from './session/control.ts';
import type { Ports } from './session/ports.ts';

/** No agent file is larger: the largest that is known has a little more than one MiB. */
const LARGEST = 64 * 1024 * 1024;
const MOST_FILES = 20_000;

/** An agent file as a directory. */
export interface AfImported extends Omit<TakenApart, 'files' | 'secrets'> {
  readonly path: string;
  readonly files: number;
  /** Names that are to be given values. */
  readonly secrets: readonly string[];
  /** Whether values came with some of them: they are in private/secrets, and in no file that is written of it. */
  readonly withValues: boolean;
}

/** Writes the directory that an agent file of Letta is in the native layout. Makes no agent of it. */
export async function afImport(
  ports: Ports,
  { file, directory }: { readonly file: string; readonly directory: string },
): Promise<AfImported> {
  const { files } = ports;
  const target = resolve(ports.cwd, directory);
  await refuseTarget(ports, { target, file });
  const taken = takeApart(await readText(ports, resolve(ports.cwd, file)), { subject: file });
  if (taken.files.size > MOST_FILES)
    throw new AgentError('AF_DAMAGED', `'${file}' would be ${String(taken.files.size)} files; no agent of Letta has so many`, {
      hints: [{ command: 'agent af import OTHER-FILE.af DIR', effect: 'nothing was changed' }],
    });
  await refuseShort(target, BigInt([...taken.files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)));
  const staging = join(dirname(target), `.${basename(target)}.perdure-staging`);
  await files.makeDirectory(dirname(target));
  await files.removeTree(staging);
  try {
    for (const empty of ['artifacts', 'body', 'private/memory', 'private/secrets', 'private/state'])
      await files.makeDirectory(join(staging, empty));
    for (const [path, text] of taken.files) await files.replace(join(staging, path), text);
    await files.rename(staging, target);
  } catch (error) {
    await files.removeTree(staging);
    throw error;
  }
  const { agents, renamed, kept, secrets } = taken;
  return {
    path: target,
    files: taken.files.size,
    agents,
    renamed,
    kept,
    secrets: [...new Set(secrets.map(({ name }) => name))],
    withValues: secrets.some(({ value }) => value !== null),
  };
}

/** The directory must be a new or empty one, and in no agent. */
async function refuseTarget({ files }: Ports, { target, file }: { readonly target: string; readonly file: string }): Promise<void> {
  const found = await stat(target).catch(() => null);
  if (
    (found === null && (await files.exists(target))) ||
    (found !== null && (!found.isDirectory() || (await files.list(target)).length > 0))
  )
    throw new AgentError('TARGET_OCCUPIED', `'${target}' is no empty directory`, {
      hints: [
        {
          command: `agent af import ${word(file)} ${word(`${target}.new`)}`,
          effect: 'a directory that does not exist yet; nothing was changed',
        },
      ],
    });
  for (let at = dirname(target); ; at = dirname(at)) {
    if (await isRoot(files, at))
      throw new AgentError('TARGET_OCCUPIED', `'${target}' lies within the agent '${at}'`, {
        hints: [{ command: `agent af import ${word(file)} DIR`, effect: 'with a directory outside of any agent; nothing was changed' }],
      });
    if (at === dirname(at)) return;
  }
}

async function readText({ files }: Ports, path: string): Promise<string> {
  const hints = [{ command: 'agent af import OTHER-FILE.af DIR', effect: 'nothing was changed' }];
  const size = await files.size(path);
  if (size === null) throw new AgentError('FILE_MISSING', `'${path}' does not exist`, { hints });
  if (size > LARGEST)
    throw new AgentError('AF_DAMAGED', `'${path}' has ${String(size)} bytes; an agent file has at most ${String(LARGEST)}`, { hints });
  const bytes = await files.read(path);
  if (!isUtf8(bytes)) throw new AgentError('AF_DAMAGED', `'${path}' is no text in UTF-8`, { hints });
  return bytes.toString('utf8');
}
