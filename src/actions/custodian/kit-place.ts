import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import type { Ports } from '../session/ports.ts';
import { word } from '../../core/shell.ts';

/** Throws where a kit may not go: into the agent or the host directory (KIT_INSIDE_ROOT), or where no directory is (FILE_MISSING). */
export async function checkKitPlace(
  { files, hostDirectory }: Ports,
  { kit, directory }: { readonly kit: string; readonly directory: string },
): Promise<void> {
  const parent = await realpath(dirname(kit)).catch(() => dirname(kit));
  const inside = [directory, await realpath(directory).catch(() => directory), hostDirectory].some((one) =>
    `${parent}/`.startsWith(`${one}/`),
  );
  if (inside)
    throw new AgentError('KIT_INSIDE_ROOT', `'${kit}' lies in the agent or in the host directory, where a thief of either would find it`, {
      hints: [{ command: 'agent init --recovery-kit /media/stick/ada.kit', effect: 'better on a medium that you put away' }],
    });
  if (!(await files.exists(parent)))
    throw new AgentError('FILE_MISSING', `the directory '${parent}' for the recovery kit does not exist`, {
      hints: [{ command: `mkdir -p ${word(parent)}` }],
    });
}
