import { afExport } from '../../actions/af-export.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { showBytes } from '../../cli/text.ts';

export default class AfExport extends AgentCommand {
  static override summary = 'write an agent file of Letta from the agent';
  static override usage = 'af export [--from REV] -o FILE.af [DIR]';
  static override description =
    'Of the tree on disk, or of a recorded state. Of an agent that af import wrote, and in which nothing changed since, it is the\nsame file to the byte. Says what an agent file has no place for. Values of secrets are never in it.';
  static override examples = ['agent af export -o ../mira.af', 'agent af export --from HEAD~1 -o - | less'];
  static override args = { directory: Args.string() };
  static override flags = {
    from: Flags.string({ summary: 'a recorded state instead of the tree on disk', helpValue: 'REV' }),
    output: Flags.string({ char: 'o', summary: 'a new file, or - for standard output', helpValue: 'FILE', required: true }),
  };
  static override statuses = ['10 no agent here', '12 no key fits', '13 damaged'];

  async answer({ flags, args }: CommandInput, { ports }: Context): Promise<Answer> {
    const output = String(flags['output']);
    const { text, ...data } = await afExport(ports, {
      directory: args['directory'] as string | undefined,
      from: flags['from'] as string | undefined,
      output: output === '-' ? null : output,
    });
    const { name, path, bytes, seq, imported, leftOut, tooLong, secrets } = data;
    return {
      data,
      ...(path === null ? { document: text } : {}),
      text: `${name}${seq === null ? '' : `, record ${String(seq)},`} is in ${path ?? ''} (${showBytes(bytes)})\n`,
      notes: [
        ...leftOut.map(
          ({ what, count, paths }) => `not in it: ${what}${count === 0 ? '' : ` (${String(count)}): ${listed(paths, count)}`}`,
        ),
        ...(secrets.length === 0 ? [] : [`in it by name alone, to be given values: ${secrets.join(', ')}`]),
        ...tooLong.map((label) => `the block '${label}' is longer than its limit, and Letta may refuse it`),
        ...(imported ? [] : ['it names no model; Letta asks for one where it is imported']),
      ],
    };
  }
}

function listed(paths: readonly string[], count: number): string {
  return `${paths.join(', ')}${count > paths.length ? ', …' : ''}`;
}
