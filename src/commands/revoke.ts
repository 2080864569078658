import { openCustodian } from '../actions/custodian/custodian.ts';
import { revoke } from '../actions/revoke.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { confirmAssertion } from '../cli/confirm.ts';
import { CUSTODIAN_FLAGS, custodianSource, custodianWords } from '../cli/custodian-flags.ts';
import { hookNotes } from '../cli/text.ts';
import { AgentError } from '../core/errors.ts';

export default class Revoke extends AgentCommand {
  static override summary = 'take an offer back whose target is lost, by the recovery key';
  static override usage = 'revoke --kit FILE [--yes --reason TEXT]';
  static override description = "Where the target can still speak, its 'agent decline' is the safe way.";
  static override examples = ["agent revoke --kit /media/stick/ada.kit --yes --reason 'the vps was never rented'"];
  static override statuses = ['12 not its recovery key', '14 may not act', '15 stale or forked'];
  static override flags = {
    ...CUSTODIAN_FLAGS,
    yes: Flags.boolean({ summary: 'do not ask; with --reason' }),
    reason: Flags.string({ summary: 'why; signed and sealed into the ledger', helpValue: 'TEXT' }),
  };

  async answer(input: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const custodian = await openCustodian(ports, custodianSource(input));
    if (custodian === null)
      throw new AgentError('USAGE_WRONG', 'the recovery kit is needed', {
        hints: [
          { command: 'agent revoke --kit FILE' },
          { command: 'agent decline', effect: 'on the target, while it can still speak: needs no kit' },
        ],
      });
    const { session, hooks } = await revoke(ports, {
      custodian,
      confirm: ({ name, target, seq }) =>
        confirmAssertion(terminal, {
          name,
          consequence: `the offer of record ${String(seq)} is taken back, and '${name}' acts here again: you say that ${target} never took it up and never will; if it did, both act until one sees the other's ledger`,
          yes: input.flags['yes'] === true,
          reason: input.flags['reason'] as string | undefined,
          command: `agent revoke ${custodianWords(input)}`,
        }),
    });
    const { seq, epoch } = session.state;
    return {
      data: { recorded: true, seq, epoch, hooks },
      text: `${session.name} may act here again (epoch ${String(epoch)}, record ${String(seq)}); what changes from now on is sealed to new store keys, which the target has not\n`,
      notes: hookNotes(hooks, 'start'),
    };
  }
}
