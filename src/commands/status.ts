import { status, type StatusResult } from '../actions/status.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { duration } from '../cli/duration.ts';
import { otherProgram } from '../cli/own-name.ts';
import { STATUS } from '../core/errors.ts';
import { CHANGE_MARK, columns, count, firstLines, nextLines, showAge, showBytes } from '../cli/text.ts';

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
      text: textOf(result),
      notes,
    };
  }
}

function ageNotes({ newest, standing, why }: StatusResult, limit: number): readonly string[] {
  if (standing === 'SUPERSEDED' || standing === 'FOREIGN') return [why];
  if (newest === null) return ['nothing is recorded yet'];
  return newest.age > limit ? [`the newest state is ${showAge(newest.age)} old`] : [];
}

function textOf(result: StatusResult): string {
  const { name, agent, root, profile, seq, epoch, standing, why, holder, awaits, newest, changes, guards, next } = result;
  const facts = newest?.facts;
  const rows: (readonly [string, string])[] = [
    ['agent', `${name} ${agent.slice(0, 12)}, profile ${profile}, record ${String(seq)}`],
    ['root', root],
    ['may act', standing === 'ACTIVE' ? `yes, here (epoch ${String(epoch)}): ${why}` : `no: ${standing}`],
    ...(standing === 'ACTIVE'
      ? []
      : ([
          ['because', why],
          ['holder', `${holder}, epoch ${String(epoch)}`],
        ] as const)),
    ...(awaits === null ? [] : ([['awaits', awaits]] as const)),
    [
      'captured',
      newest === null
        ? 'nothing yet'
        : facts == null
          ? `record ${String(newest.seq)}, ${newest.at} (sealed to others)`
          : `record ${String(newest.seq)}, ${newest.at}, ${facts.consistency}: ${count(facts.coverage.included, 'path')}, ${showBytes(facts.coverage.bytes)}`,
    ],
    ...(facts == null || facts.alarms.length === 0
      ? []
      : ([
          [
            'alarms',
            firstLines(
              facts.alarms.map((one) => `${one.code} ${one.subject}`),
              3,
            ).join(', '),
          ],
        ] as const)),
    ['changed', changes === null ? 'unknown' : changes.length === 0 ? 'nothing since' : `${count(changes.length, 'path')} since`],
    [
      'enforced',
      guards.length === 0
        ? 'by nothing: no guard runs; a process outside of agent guard is not stopped'
        : guards.map((guard) => `guard ${String(guard.pid)} runs '${guard.command}'`).join('; '),
    ],
  ];
  const changed = firstLines(
    (changes ?? []).map(({ kind, path }) => `  ${CHANGE_MARK[kind]} ${path}`),
    8,
  );
  return `${columns(rows)}${changed.length === 0 ? '' : `${changed.join('\n')}\n`}${nextLines(next).join('\n')}\n`;
}
