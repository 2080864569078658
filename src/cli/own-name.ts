import { constants } from 'node:fs';
import { access, realpath } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Terminal } from './terminal.ts';

/** A line where `agent` on PATH is another program than this one (other tools use the name, too); else none. */
export async function otherProgram({ env, program }: Terminal): Promise<readonly string[]> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, 'agent');
    if (
      directory === '' ||
      !(await access(path, constants.X_OK).then(
        () => true,
        () => false,
      ))
    )
      continue;
    if ((await realpath(path)) === (await realpath(program).catch(() => program))) return [];
    return [`'agent' on PATH is another program (${path}); call this one 'perdure'`];
  }
  return [];
}
