import { basename, dirname, join, resolve } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import type { Files } from '../../core/files.ts';
import { word } from '../../core/shell.ts';
import { FORMAT_FILE } from '../../store/layout.ts';

/** The name of the control directory in a root, or of a file that says where it is, as `.git` may be one. */
export const CONTROL = '.perdure';

const POINTER = /^perdure-control ([^\n]+)\n$/;

/** Path of the control directory of a root, whether or not it exists. A relative one in a file is taken from the root. */
export async function controlOf(files: Files, root: string): Promise<string> {
  const own = join(root, CONTROL);
  if (!(await files.exists(own)) || (await files.exists(`${own}/.`))) return own;
  const named = POINTER.exec((await files.readIfPresent(own))?.toString('utf8') ?? '')?.[1];
  return named === undefined ? own : resolve(root, named);
}

/** Whether a directory is an agent root. */
export async function isRoot(files: Files, directory: string): Promise<boolean> {
  return files.exists(join(await controlOf(files, directory), FORMAT_FILE));
}

/** Throws AGENT_MISSING where a root says that its control directory is elsewhere, and it is not there. */
export async function refuseAbsent(files: Files, root: string, control: string): Promise<void> {
  if (dirname(control) === root || (await files.exists(control))) return;
  throw new AgentError('AGENT_MISSING', `the control directory of '${root}' is to be at '${control}', and is not there`, {
    hints: [
      { command: `ls -ld ${word(control)}`, effect: 'perhaps it is not mounted' },
      {
        command: `mv ${word(root)} ${word(`${root}.old`)} && agent rehydrate BACKUP ${word(root)}`,
        effect: 'if it is lost, with a backup',
      },
    ],
  });
}

/**
 * Puts a control directory elsewhere: a new directory outside of the root, and in the root a file that names it. Done again it
 * changes nothing. Throws USAGE_WRONG or TARGET_OCCUPIED.
 */
export async function placeControl(files: Files, { root, control }: { readonly root: string; readonly control: string }): Promise<void> {
  if (`${control}/`.startsWith(`${root}/`))
    throw new AgentError('USAGE_WRONG', `'${control}' lies in the agent; a control directory elsewhere lies outside of it`, {
      hints: [{ command: 'agent init --recovery-kit FILE', effect: 'keeps it in the agent, as .perdure' }],
    });
  if ((await controlOf(files, root)) === control) return;
  if ((await files.exists(join(root, CONTROL))) || (await files.list(control)).length > 0)
    throw new AgentError(
      'TARGET_OCCUPIED',
      `'${(await files.exists(join(root, CONTROL))) ? join(root, CONTROL) : control}' holds something`,
      {
        hints: [
          { command: `agent init ${word(root)} --control OTHER-DIR`, effect: 'a directory that does not exist yet; nothing was changed' },
        ],
      },
    );
  await files.makeDirectory(control);
  await files.replace(join(root, CONTROL), `perdure-control ${control}\n`);
}

/** Where entries are staged that are renamed into a root: on its file system. */
export function stagingIn(root: string, control: string): string {
  return dirname(control) === root ? join(control, 'local', 'restore-staging') : join(dirname(root), `.${basename(root)}.perdure-restore`);
}
