import { custodyChange } from '../../actions/custody.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../../cli/custodian-flags.ts';
import { AgentError } from '../../core/errors.ts';

export default class KeysCustody extends AgentCommand {
  static override summary = 'put another recovery key in the place of the old one, which signs it';
  static override usage = 'keys custody --kit OLD --new-kit FILE';
  static override description =
    'The old kit opens nothing that is sealed from now on, and can take the agent over from no copy of a later record.\nKeep it until every backup has a newer state.';
  static override examples = [
    'agent keys custody --kit old.kit --new-kit /media/stick/ada.kit',
    'agent keys custody --kit old.kit --new-custodian ~/.ssh/id_ed25519.pub --recovery-recipient age1…',
  ];
  static override statuses = ['11 busy', '12 not its recovery key', '14 may not act'];
  static override flags = {
    ...CUSTODIAN_FLAGS,
    'new-kit': Flags.string({ summary: 'write the new recovery key to this new file', helpValue: 'FILE', exclusive: ['new-custodian'] }),
    'new-custodian': Flags.string({ summary: 'a public key of ssh that is to be the recovery key', helpValue: 'KEY.pub' }),
    'recovery-recipient': Flags.string({ summary: 'with --new-custodian: the age recipient to seal to', helpValue: 'age1…' }),
  };

  async answer(input: CommandInput, { ports }: Context): Promise<Answer> {
    const kit = input.flags['new-kit'] as string | undefined;
    const key = input.flags['new-custodian'] as string | undefined;
    const recipient = input.flags['recovery-recipient'] as string | undefined;
    if ((kit === undefined) === (key === undefined) || (key === undefined) !== (recipient === undefined))
      throw new AgentError('USAGE_WRONG', 'say where the new kit goes, or whose key it is to be', {
        hints: [
          { command: 'agent keys custody --kit OLD --new-kit FILE' },
          { command: 'agent keys custody --kit OLD --new-custodian KEY.pub --recovery-recipient age1…' },
        ],
      });
    const { session, recorded } = await custodyChange(ports, {
      old: custodianSource(input),
      to: kit === undefined ? { key: key ?? '', recipient: recipient ?? '' } : { kit },
    });
    const [recovery] = session.state.recovery;
    return {
      data: { recorded, recovery: session.state.recovery, seq: session.state.seq },
      text: recorded
        ? `the recovery key of ${session.name} is now ${recovery?.key ?? ''} (record ${String(session.state.seq)})\nnext: agent pack -o BACKUP   # so that backups know the new one; what changes from now on the old one does not open\n`
        : `that is the recovery key of ${session.name} already\n`,
    };
  }
}
