import { flagsOf, type CommandClass, type Program } from './command.ts';

/** Exit statuses, as every help ends in them. */
export const STATUSES = `exit status:
   0 done            1 failed          2 usage           3 done but incomplete   4 differs
  10 no agent       11 busy or lost a race              12 no key fits          13 damaged
  14 may not act    15 stale or forked                  16 unsupported format   17 requirement missing
  18 invariant broken                                   70 bug                 130 interrupted
`;

/** What the help shows of a flag. */
export interface FlagShape {
  readonly char?: string;
  readonly type?: string;
  readonly summary?: string;
  readonly helpValue?: string | string[];
  readonly hidden?: boolean;
}

/** The help of the whole program. */
export function programHelp({ commands: table, groups }: Program): string {
  const width = Math.max(...Object.keys(table).map((name) => name.length));
  const lines = groups.flatMap(([title, names]) => [
    '',
    title,
    ...names.map((name) => `  ${name.padEnd(width)}  ${table[name]?.summary ?? ''}`),
  ]);
  return `usage: agent [-C DIR] COMMAND [OPTIONS]\n${lines.join('\n')}\n\n'agent COMMAND --help' tells more, and 'agent help STATUS' or 'agent help CODE' of how it ended. 'perdure' is the same program.\n\n${STATUSES}`;
}

/** The help of commands that share their first word. */
export function groupHelp({ commands: table }: Program, first: string): string {
  const names = Object.keys(table).filter((name) => name.startsWith(`${first} `));
  const width = Math.max(...names.map((name) => name.length));
  return `usage: agent ${first} COMMAND\n\n${names.map((name) => `  ${name.padEnd(width)}  ${table[name]?.summary ?? ''}`).join('\n')}\n\n'agent ${first} COMMAND --help' tells more.\n`;
}

/** The help of one command. */
export function commandHelp(type: CommandClass): string {
  const rows = flagShapes(flagsOf(type)).map(([flag, shape]): readonly [string, string] => {
    const value = shape.type === 'option' ? ` ${String(shape.helpValue ?? 'VALUE')}` : '';
    return [`${shape.char === undefined ? '    ' : `-${shape.char}, `}--${flag}${value}`, shape.summary ?? ''];
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  const parts = [
    `${type.summary}\n\nusage: agent ${type.usage}`,
    ...(type.description === undefined ? [] : [type.description.trim()]),
    rows.map(([left, text]) => `  ${left.padEnd(width)}  ${text}`).join('\n'),
    ...(type.examples.length === 0 ? [] : [`examples:\n${type.examples.map((one) => `  ${one}`).join('\n')}`]),
    type.statuses.length === 0 ? STATUSES.trimEnd() : `exit status: 0 done · 1 failed · 2 usage · ${type.statuses.join(' · ')} · 70 bug`,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The flags of a command that its help shows. */
export function flagShapes(flags: Readonly<Record<string, unknown>>): readonly (readonly [string, FlagShape])[] {
  return Object.entries(flags as Record<string, FlagShape>).filter(([, flag]) => flag.hidden !== true);
}
