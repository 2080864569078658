import { planRestore, restore } from '../actions/restore.ts';
import { restoreTo } from '../actions/restore-to.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { count } from '../cli/text.ts';
import { AgentError, STATUS } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import { confirmRestore, planLines } from '../cli/present/restore.ts';

export default class Restore extends AgentCommand {
  static override summary = 'put the tree, or paths of it, back to a recorded state';
  static override usage = 'restore REV [PATH…] [--yes | --dry-run] | restore REV [PATH…] --to DIR';
  static override description =
    'Says first what goes back. What is there now is recorded before, so that nothing is lost; the ledger goes on. Files of\nclass host and secret stay. --to DIR writes plain files into a new directory instead, and leaves the agent alone.';
  static override examples = [
    'agent restore HEAD~1 private/memory --dry-run',
    'agent restore 42 --yes',
    'agent restore 42 private/self.json --to ../look',
  ];
  static override statuses = ['3 secrets missing', '11 something runs or writes', '12 no key fits', '14 may not act'];
  static override strict = false;
  static override flags = {
    to: Flags.string({ summary: 'a new directory; the agent is left alone', helpValue: 'DIR', exclusive: ['yes'] }),
    yes: Flags.boolean({ summary: 'do not ask' }),
    'dry-run': Flags.boolean({ summary: 'only tell what would go back', exclusive: ['yes', 'to'] }),
  };

  async answer({ flags, argv }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const [revision, ...paths] = argv;
    const unknown = argv.find((one) => one.startsWith('--'));
    if (revision === undefined || unknown !== undefined)
      throw new AgentError('USAGE_WRONG', unknown === undefined ? 'a state to go back to is needed' : `unknown option '${unknown}'`, {
        hints: [{ command: 'agent log', effect: 'lists the states' }, { command: 'agent restore --help' }],
      });
    const to = flags['to'] as string | undefined;
    if (to !== undefined) {
      const result = await restoreTo(ports, { revision, paths, directory: to });
      return {
        status: result.secretsSealed ? STATUS.incomplete : STATUS.done,
        data: result,
        text: `${count(result.files, 'path')} of ${result.name}, record ${String(result.seq)}, are in ${result.path}\n`,
        notes: result.secretsSealed ? ['its secrets are not among them: no key of this host opens them'] : [],
      };
    }
    if (flags['dry-run'] === true) {
      const plan = await planRestore(ports, { revision, paths });
      return { data: { ...plan, recorded: null }, text: `${planLines(plan).join('\n')}\nnothing was changed\n` };
    }
    const result = await restore(ports, {
      revision,
      paths,
      confirm: async (plan) => {
        for (const line of planLines(plan)) terminal.note(line);
        await confirmRestore(terminal, {
          plan,
          yes: flags['yes'] === true,
          command: `agent restore ${argv.map((one) => word(one)).join(' ')} --yes`,
        });
      },
    });
    const { session: _session, ...data } = result;
    const { changes, seq } = result;
    if (result.recorded === null) return { data, text: `nothing differs from record ${String(seq)}\n` };
    return {
      data,
      text: `${result.name} is back at record ${String(seq)} (${count(changes.length, 'path')}), recorded as ${String(result.recorded)}\nnext: agent restore ${String(result.recorded - 1)} --yes   # takes that back\n`,
    };
  }
}
