import { status } from '../actions/status.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { duration } from '../cli/duration.ts';
import { otherProgram } from '../cli/own-name.ts';
import { STATUS } from '../core/errors.ts';
import { ageNotes, statusText } from '../cli/present/status.ts';

export default class Status extends AgentCommand {
  static override summary = 'who this is, who may act and why, what is captured, what changed, and what to type next';
  static override usage = 'status [--max-age TIME]';
  static override examples = ['agent status', 'agent status --max-age 1h >/dev/null || notify'];
  static override statuses = [
    '3 the newest state is older than --max-age',
    '10 no agent here',
    '13 damaged',
    '14 with --max-age: held elsewhere',
  ];
  static override flags = {
    'max-age': Flags.string({ summary: 'for monitoring: fail where the newest state is older', helpValue: 'TIME' }),
  };

  async answer({ flags }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const limit = flags['max-age'] === undefined ? null : duration(flags['max-age'] as string, 'agent status --max-age 1h');
    const result = await status(ports);
    const notes = [...(await otherProgram(terminal)), ...(limit === null ? [] : ageNotes(result, limit))];
    const isHeld = !['SUPERSEDED', 'FOREIGN'].includes(result.standing);
    const isOld = limit !== null && (result.newest === null || result.newest.age > limit);
    return {
      status: limit === null ? STATUS.done : !isHeld ? STATUS.mayNotAct : isOld ? STATUS.incomplete : STATUS.done,
      data: result,
      text: statusText(result),
      notes,
    };
  }
}
