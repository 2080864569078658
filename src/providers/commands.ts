/** How a command ended. */
export interface CommandResult {
  readonly status: number;
  readonly output: string;
}

/** Runs a program with arguments (no shell) in a directory, with a limit in milliseconds; never throws. */
export async function runCommand(
  argv: readonly string[],
  { cwd, limit }: { readonly cwd: string; readonly limit: number },
): Promise<CommandResult> {
  const { execa } = await import('execa');
  const [program = '', ...rest] = argv;
  const result = await execa(program, rest, { cwd, timeout: limit, reject: false, stdin: 'ignore', all: true });
  return { status: result.exitCode ?? 128, output: result.all };
}
