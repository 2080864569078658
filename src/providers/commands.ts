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

/** Runs a program with arguments (no shell) in a directory, with a limit in milliseconds, in the environment `env` or else that of this process; never throws. */
export async function runCommand(
  argv: readonly string[],
  { cwd, limit, env }: { readonly cwd: string; readonly limit: number; readonly env?: Readonly<Record<string, string | undefined>> },
): Promise<CommandResult> {
  const { execa } = await import('execa');
  const [program = '', ...rest] = argv;
  const result = await execa(program, rest, {
    cwd,
    timeout: limit,
    reject: false,
    stdin: 'ignore',
    all: true,
    ...(env === undefined ? {} : { env, extendEnv: false }),
  });
  return { status: result.exitCode ?? 128, output: result.all };
}
