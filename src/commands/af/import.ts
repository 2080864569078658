import { afImport } from '../../actions/af-import.ts';
import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { count, firstLines } from '../../cli/text.ts';
import { word } from '../../core/shell.ts';

export default class AfImport extends AgentCommand {
  static override summary = 'write the directory that an agent file of Letta is';
  static override usage = 'af import FILE.af DIR';
  static override description =
    'Each memory block, message log, tool, skill and file becomes a file of the native layout; what is none is kept exactly in\nprivate/state/letta. Nothing is lost: af export gives the same file back. No agent is made: that is what init does.';
  static override examples = ['agent af import mira.af mira', 'agent init mira --recovery-kit /media/usb/mira.kit'];
  static override args = { file: Args.string({ required: true }), directory: Args.string({ required: true }) };
  static override statuses = ['13 no agent file'];

  async answer({ args }: CommandInput, { ports }: Context): Promise<Answer> {
    const result = await afImport(ports, { file: String(args['file']), directory: String(args['directory']) });
    const { path, files, agents, renamed, kept, secrets, withValues } = result;
    const [name = 'agent', ...others] = agents;
    return {
      data: result,
      text: `${name} is in ${path} (${count(files, 'file')})\nnext: agent init ${word(path)} --recovery-kit FILE\n`,
      notes: [
        ...(others.length === 0 ? [] : [`it holds more agents; they are in private/memory/agents: ${others.join(', ')}`]),
        ...firstLines(
          renamed.map(({ wanted, path: is }) => `'${wanted}' cannot be called so here, and is ${is}`),
          10,
        ),
        ...kept.map((one) => `'${one}' is no text that a file can hold, and stays in private/state/letta/agent.json`),
        ...(secrets.length === 0 ? [] : [`to be given values, in private/secrets/letta.json: ${secrets.join(', ')}`]),
        ...(withValues ? ['some of them came with values; af export leaves these out, so that its file is another one'] : []),
        'not in an agent file, and so not here: archival passages, older messages, runs, schedules, identities, keys of providers',
      ],
    };
  }
}
