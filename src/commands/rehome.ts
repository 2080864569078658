import { planRehome, rehome } from '../actions/rehome.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { rehomeText } from '../cli/present/rehome.ts';
import { AgentError, STATUS } from '../core/errors.ts';
import type { Moved } from '../install/relocate/path-map.ts';

export default class Rehome extends AgentCommand {
  static override summary = 'after a move: rewrite the paths of the old place, hold queues, record that';
  static override usage = 'rehome [--map OLD=NEW] [--skip PATH] [--dry-run] [--as-is]';
  static override description =
    'What is rewritten, dropped and held stands in the profile. The root and the home directory of before are known from the state;\n--map names further directories that moved, such as projects. Held files are put back by agent release.';
  static override examples = ['agent rehome --dry-run', 'agent rehome --map /home/ada/src=/srv/src'];
  static override statuses = ['3 done, but something was left as it is', '11 a process writes, or a guard runs', '14 may not act'];
  static override flags = {
    map: Flags.string({ multiple: true, summary: 'a further directory that moved', helpValue: 'OLD=NEW' }),
    skip: Flags.string({ multiple: true, summary: 'a file that stays as it is', helpValue: 'PATH' }),
    'dry-run': Flags.boolean({ summary: 'tell what would be done' }),
    'as-is': Flags.boolean({ summary: 'change nothing, and record that it is right as it is' }),
  };

  async answer({ flags }: CommandInput, { ports }: Context): Promise<Answer> {
    const options = {
      moved: refuseTwice(((flags['map'] as string[] | undefined) ?? []).map(parseMoved)),
      skip: (flags['skip'] as string[] | undefined) ?? [],
      asIs: flags['as-is'] === true,
    };
    const isPlan = flags['dry-run'] === true;
    const result = isPlan ? await planRehome(ports, options) : await rehome(ports, options);
    const { text, notes } = rehomeText(result, { isPlan, again: (flags['map'] as string[] | undefined) ?? [] });
    return {
      status:
        result.unwritten.length > 0 || result.outside.some(({ how }) => how === 'beside' || how === 'left')
          ? STATUS.incomplete
          : STATUS.done,
      data: { ...result, dryRun: isPlan },
      text,
      notes,
    };
  }
}

/** Throws USAGE_WRONG where one place is said to be two. */
function refuseTwice(moved: readonly Moved[]): readonly Moved[] {
  const twice = moved.find((one, at) => moved.some((other, place) => place > at && other.from === one.from));
  if (twice === undefined) return moved;
  throw new AgentError('USAGE_WRONG', `'${twice.from}' is given two places`, {
    hints: [{ command: 'agent rehome --map /old/place=/new/place' }],
  });
}

function parseMoved(text: string): Moved {
  const at = text.indexOf('=');
  const [from, to] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || to === '' || from === '/')
    throw new AgentError('USAGE_WRONG', `'${text}' is not OLD=NEW`, { hints: [{ command: 'agent rehome --map /old/place=/new/place' }] });
  return { from, to };
}
