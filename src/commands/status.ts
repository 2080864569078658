import { afterMove } from '../actions/after-move.ts';
import { status } from '../actions/status.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { duration } from '../cli/duration.ts';
import { otherProgram } from '../cli/own-name.ts';
import { AgentError, STATUS } from '../core/errors.ts';
import { columns } from '../cli/text.ts';
import { ageNotes, statusText } from '../cli/present/status.ts';

export default class Status extends AgentCommand {
  static override summary = 'who this is, who may act and why, what is captured, what changed, and what to type next';
  static override usage = 'status [--max-age TIME] [--after-move [--find TEXT]]';
  static override examples = ['agent status', 'agent status --max-age 1h >/dev/null || notify'];
  static override statuses = [
    '3 the newest state is older than --max-age, or --after-move finds that something is left to do',
    '10 no agent here',
    '13 damaged',
    '14 with --max-age: held elsewhere',
  ];
  static override flags = {
    'after-move': Flags.boolean({
      summary: 'look whether the agent woke up as itself: home, memory, secrets, databases, what it needs',
    }),
    find: Flags.string({ summary: 'with --after-move: a text that its memory holds', helpValue: 'TEXT' }),
    'max-age': Flags.string({ summary: 'for monitoring: fail where the newest state is older', helpValue: 'TIME' }),
  };

  async answer({ flags }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const find = (flags['find'] as string | undefined) ?? null;
    if (find !== null && (flags['after-move'] !== true || find === ''))
      throw new AgentError('USAGE_WRONG', find === '' ? 'no text is given to look for' : '--find is of use with --after-move alone', {
        hints: [{ command: 'agent status --after-move --find TEXT' }],
      });
    const limit = flags['max-age'] === undefined ? null : duration(flags['max-age'] as string, 'agent status --max-age 1h');
    const result = await status(ports);
    const notes = [...(await otherProgram(terminal)), ...(limit === null ? [] : ageNotes(result, limit))];
    const woken = flags['after-move'] === true ? await afterMove(ports, { find }) : null;
    const isHeld = !['SUPERSEDED', 'FOREIGN'].includes(result.standing);
    const isOld = limit !== null && (result.newest === null || result.newest.age > limit);
    const isLeft = isOld || woken?.some(({ ok }) => !ok) === true;
    return {
      status: limit !== null && !isHeld ? STATUS.mayNotAct : isLeft ? STATUS.incomplete : STATUS.done,
      data: { ...result, afterMove: woken },
      text: woken === null ? statusText(result) : columns(woken.map(({ name, ok, text }) => [`${ok ? ' ' : '!'} ${name}`, text])),
      notes,
    };
  }
}
