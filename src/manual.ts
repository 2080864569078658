import { SHELLS, completionScript } from './cli/completion.ts';
import { manPages } from './cli/man.ts';
import { program } from './program.ts';

const COMPLETION_FILES = { bash: 'perdure.bash', zsh: '_perdure', fish: 'perdure.fish' } as const;

/** Man pages and completions by their path below `dist`; the build writes them. */
export async function manual(): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const [name, text] of await manPages(program)) files.set(`man/man1/${name}`, text);
  for (const shell of SHELLS) files.set(`completions/${COMPLETION_FILES[shell]}`, await completionScript(program.commands, shell));
  return files;
}
