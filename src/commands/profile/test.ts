import { testProfile } from '../../actions/profiles.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { columns, count } from '../../cli/text.ts';

export default class ProfileTest extends AgentCommand {
  static override summary = 'tell what each path of a directory is, by which rule, and what no rule knows';
  static override usage = 'profile test [DIR] [--profile P] [--unclassified]';
  static override description = 'The directory need not be an agent yet; nothing is written. Unknown files are captured as private memory.';
  static override args = { dir: Args.string({ default: '.' }) };
  static override flags = {
    profile: Flags.string({ summary: 'a profile (that of the agent, or the one whose layout it has)', helpValue: 'P' }),
    unclassified: Flags.boolean({ summary: 'list only what no rule knows' }),
  };

  async answer({ flags, args }: CommandInput, { ports }: Context): Promise<Answer> {
    const result = await testProfile(ports, { directory: String(args['dir']), profile: flags['profile'] as string | undefined });
    const shown = flags['unclassified'] === true ? result.paths.filter((one) => one.flags.includes('unclassified')) : result.paths;
    const rows = shown.map(({ path, class: kind, rule }) => [kind, `${path}   ${rule ?? '(no rule)'}`] as const);
    const { by, profile, unclassified, elsewhere } = result;
    const sum = Object.entries(result.classes).map(([kind, number]) => `${String(number)} ${kind}`);
    return {
      data: result,
      text: rows.length === 0 ? '' : columns(rows),
      notes: [
        `profile ${profile}${by.length === 0 ? '' : `, found out by ${by.join(', ')}`}: ${sum.join(', ')}`,
        unclassified.length === 0
          ? 'every path has a rule'
          : `no rule knows ${count(unclassified.length, 'path')}: captured as private memory`,
        ...elsewhere.map(
          ({ path, class: kind, about, captured }) =>
            `lies elsewhere, ${captured ? 'captured' : 'not captured'}: ${path} (${kind}): ${about}`,
        ),
      ],
    };
  }
}
