import { spawnSync } from 'node:child_process';

/**
 * Whether a program is on PATH. A test that needs one that is not there is skipped, and the closing line counts it; in CI,
 * which installs them all, it runs and fails.
 */
export function has(...programs: readonly string[]): boolean {
  return process.env['CI'] === 'true' || programs.every((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0);
}

/** Whether this is the superuser, who alone may mount. */
export const isRoot = process.getuid?.() === 0;
