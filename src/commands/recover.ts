import { openCustodian } from '../actions/custodian/custodian.ts';
import { recover } from '../actions/recover.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { confirmAssertion } from '../cli/confirm.ts';
import { CUSTODIAN_FLAGS, custodianSource, custodianWords } from '../cli/custodian-flags.ts';
import { showAge } from '../cli/text.ts';
import { AgentError } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import { consequenceOf, credentialNotes } from '../cli/present/recover.ts';

export default class Recover extends AgentCommand {
  static override summary = 'bring an agent back whose host is lost, by its recovery key';
  static override usage = 'recover BUNDLE… DIR --kit FILE [--yes --reason TEXT]';
  static override description =
    'Says what it does first, and writes nothing before you say so. This host holds the agent afterwards, and outranks the\nlost one as soon as that one sees this ledger. What lies in DIR is kept in DIR/.perdure/local/old.';
  static override examples = ["agent recover /mnt/nas/ada ada --kit /media/stick/ada.kit --yes --reason 'the disk died'"];
  static override statuses = ['12 not its recovery key', '13 damaged', '15 two branches', '17 requirement missing'];
  static override strict = false;
  static override flags = {
    ...CUSTODIAN_FLAGS,
    yes: Flags.boolean({ summary: 'do not ask; with --reason' }),
    reason: Flags.string({ summary: 'why; signed and sealed into the ledger', helpValue: 'TEXT' }),
  };

  async answer(input: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const { flags, argv } = input;
    const directory = argv.at(-1);
    const bundles = argv.slice(0, -1);
    const unknown = argv.find((one) => one.startsWith('--'));
    if (unknown !== undefined)
      throw new AgentError('USAGE_WRONG', `unknown option '${unknown}'`, { hints: [{ command: 'agent recover --help' }] });
    const custodian = await openCustodian(ports, custodianSource(input));
    if (directory === undefined || bundles.length === 0 || custodian === null)
      throw new AgentError('USAGE_WRONG', 'a bundle, a directory and the recovery kit are needed', {
        hints: [{ command: 'agent recover BUNDLE DIR --kit FILE' }],
      });
    const result = await recover(ports, {
      bundles,
      directory,
      custodian,
      input: terminal.input,
      confirm: (plan) =>
        confirmAssertion(terminal, {
          name: plan.name,
          consequence: consequenceOf(plan),
          yes: flags['yes'] === true,
          reason: flags['reason'] as string | undefined,
          command: `agent recover ${argv.map(word).join(' ')} ${custodianWords(input)}`,
        }),
    });
    const { session, path, recorded, oldTree, secrets, plan: _plan, ...rest } = result;
    const text = recorded
      ? `${session.name} is in ${path} and may act here (epoch ${String(session.state.epoch)}, record ${String(session.state.seq)}), as of record ${String(result.seq)}, ${showAge(result.age)} old`
      : `${session.name} was brought back to ${path} already`;
    return {
      data: { ...rest, secrets, path, recorded, oldTree, agent: session.state.agent, epoch: session.state.epoch },
      text: `${text}\n${oldTree === null ? '' : `the directory that was there is kept in ${oldTree}\n`}next: agent -C ${word(path)} pack -o BACKUP   # so that every backup knows of it; the first change opens new store keys\n`,
      notes: recorded ? credentialNotes(secrets) : [],
    };
  }
}
