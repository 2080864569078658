import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { resolve } from 'node:path';

/** The built program. */
export const PROGRAM = resolve('bin/run.js');

/** Runs the built program as a host, without a terminal. */
export function run(
  argv: readonly string[],
  options: { readonly host: string; readonly cwd?: string; readonly input?: string | Buffer; readonly env?: Record<string, string> },
): SpawnSyncReturns<Buffer> {
  return spawnSync(process.execPath, [PROGRAM, ...argv], {
    cwd: options.cwd,
    input: options.input ?? '',
    maxBuffer: 1 << 28,
    env: { ...process.env, PERDURE_HOST_DIR: options.host, PERDURE_ROOT: undefined, ...options.env },
  });
}
