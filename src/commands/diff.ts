import { diff } from '../actions/diff.ts';
import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { CHANGE_MARK, count } from '../cli/text.ts';

export default class Diff extends AgentCommand {
  static override summary = 'list what differs between two states, or a state and the tree';
  static override usage = 'diff [REV [REV]]';
  static override examples = ['agent diff', 'agent diff HEAD~1 HEAD'];
  static override args = { from: Args.string(), to: Args.string() };

  async answer({ args }: CommandInput, { ports }: Context): Promise<Answer> {
    const result = await diff(ports, { from: args['from'] as string | undefined, to: args['to'] as string | undefined });
    const lines = result.changes.map(({ kind, path }) => `${CHANGE_MARK[kind]} ${path}\n`);
    return {
      data: result,
      text: lines.join(''),
      notes: result.times === 0 ? [] : [`${count(result.times, 'more path')} differ in their times alone`],
    };
  }
}
