import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** How a command ended. */
export interface CommandResult {
  readonly status: number;
  readonly output: string;
}

/** Whether a program of this name is in a directory of a PATH. */
export function isOnPath(program: string, path: string | undefined): boolean {
  return (path ?? '').split(delimiter).some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return directory !== '';
    } catch {
      return false;
    }
  });
}

/**
 * Runs a program with arguments (no shell) in a directory, in the environment `env` or else that of this process; after `limit` milliseconds
 * it and what it started are ended. Never throws.
 */
export async function runCommand(
  argv: readonly string[],
  { cwd, limit, env }: { readonly cwd: string; readonly limit: number; readonly env?: Readonly<Record<string, string | undefined>> },
): Promise<CommandResult> {
  const [program = '', ...rest] = argv;
  if (program === '') return { status: NOT_RUN, output: 'no program is named' };
  const { execa } = await import('execa');
  // A group of its own: what a script waits for would else go on, and be waited for.
  const running = execa(program, rest, {
    cwd,
    detached: true,
    reject: false,
    stdin: 'ignore',
    all: true,
    ...(env === undefined ? {} : { env, extendEnv: false }),
  });
  const late = { is: false };
  const timer = setTimeout(() => {
    late.is = true;
    if (running.pid !== undefined) process.kill(-running.pid, 'SIGKILL');
  }, limit);
  const result = await running.finally(() => {
    clearTimeout(timer);
  });
  if (late.is) return { status: NOT_RUN, output: `it did not end within ${String(limit / 1000)} s` };
  const cause = result.exitCode === undefined ? (result.shortMessage ?? '') : '';
  return { status: result.exitCode ?? NOT_RUN, output: [result.all, cause].filter((one) => one !== '').join('\n') };
}

/** What stands for the status of a program that could not be run, or was ended. */
export const NOT_RUN = 128;

/** The beginning of an output, in one line: a program may say what is wrong in the second one. */
export function firstOf(output: string): string {
  return output.trim().split('\n').slice(0, 3).join(' / ').slice(0, 300);
}
