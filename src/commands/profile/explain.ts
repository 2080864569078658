import { explain } from '../../actions/explain.ts';
import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { columns } from '../../cli/text.ts';

export default class ProfileExplain extends AgentCommand {
  static override summary = 'tell what a path is, by which rule, and what becomes of it';
  static override usage = 'profile explain PATH';
  static override args = { path: Args.string({ required: true }) };

  async answer({ args }: CommandInput, { ports }: Context): Promise<Answer> {
    const result = await explain(ports, String(args['path']));
    return {
      data: result,
      text: columns([
        ['path', result.path],
        ['class', result.class],
        ['rule', `${result.rule ?? 'none: the fallback'} (profile ${result.profile})`],
        ...(result.flags.length === 0 ? [] : ([['flags', result.flags.join(', ')]] as const)),
        ['fate', result.fate],
      ]),
    };
  }
}
