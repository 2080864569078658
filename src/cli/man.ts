import { flagsOf, type CommandClass, type Program } from './command.ts';
import { STATUSES, flagShapes } from './help.ts';

/** The man pages of the program by file name: one of its own and one a command. @see man-pages(7), groff_man(7) */
export async function manPages({ commands: table, groups, version }: Program): Promise<ReadonlyMap<string, string>> {
  const pages = new Map<string, string>();
  const head = (name: string): string => `.TH "${name.toUpperCase()}" "1" "" "perdure ${version}" "Perdure"`;
  const top = [
    head('perdure'),
    '.SH NAME\nperdure, agent \\- Git for persistent agents',
    '.SH SYNOPSIS\n\\fBperdure\\fR [\\fB\\-C\\fR \\fIDIR\\fR] \\fICOMMAND\\fR [\\fIOPTIONS\\fR]',
    ".SH DESCRIPTION\nCheckpoints an agent's directory, proves it, seals it, and moves it between hosts so that at most one copy may act. \\fBagent\\fR and \\fBperdure\\fR are one program.",
    ...groups.map(
      ([title, names]) =>
        `.SH ${escape(title.toUpperCase())}\n${names.map((name) => `.TP\n\\fBperdure\\-${escape(name.replace(' ', '-'))}\\fR(1)\n${escape(table[name]?.summary ?? '')}`).join('\n')}`,
    ),
    `.SH EXIT STATUS\n.nf\n${escape(STATUSES.split('\n').slice(1).join('\n').trimEnd())}\n.fi\n\\fBperdure help\\fR \\fISTATUS\\fR or \\fICODE\\fR tells more of each.`,
    '.SH ENVIRONMENT\n.TP\n\\fBPERDURE_ROOT\\fR\nthe agent, where \\-C names none\n.TP\n\\fBPERDURE_HOST_DIR\\fR\nthe host directory (\\fI$XDG_STATE_HOME/perdure\\fR)',
  ];
  pages.set('perdure.1', `${top.join('\n')}\n`);
  for (const [name, { load }] of Object.entries(table)) {
    const file = `perdure-${name.replace(' ', '-')}`;
    pages.set(`${file}.1`, `${head(file)}\n${commandPage(name, await load())}\n`);
  }
  return pages;
}

function commandPage(name: string, type: CommandClass): string {
  const options = flagShapes(flagsOf(type)).map(([flag, shape]) => {
    const value = shape.type === 'option' ? ` \\fI${escape(String(shape.helpValue ?? 'VALUE'))}\\fR` : '';
    const short = shape.char === undefined ? '' : `\\fB\\-${shape.char}\\fR, `;
    return `.TP\n${short}\\fB\\-\\-${escape(flag)}\\fR${value}\n${escape(shape.summary ?? '')}`;
  });
  return [
    `.SH NAME\nperdure\\-${escape(name.replace(' ', '-'))} \\- ${escape(type.summary)}`,
    `.SH SYNOPSIS\n${type.usage
      .split(' | ')
      .map((line) => `\\fBperdure\\fR ${escape(line)}`)
      .join('\n.br\n')}`,
    ...(type.description === undefined ? [] : [`.SH DESCRIPTION\n${escape(type.description)}`]),
    `.SH OPTIONS\n${options.join('\n')}`,
    ...(type.examples.length === 0 ? [] : [`.SH EXAMPLES\n.nf\n${type.examples.map(escape).join('\n')}\n.fi`]),
    `.SH EXIT STATUS\n${escape(['0 done', '1 failed', '2 usage', ...type.statuses, '70 bug'].join(' · '))}`,
    '.SH SEE ALSO\n\\fBperdure\\fR(1)',
  ].join('\n');
}

/** Text for troff: backslashes and hyphens are themselves, and a line does not begin a request. */
function escape(text: string): string {
  return text
    .replace(/\\/g, '\\e')
    .replace(/-/g, '\\-')
    .replace(/^([.'])/gm, '\\&$1');
}
