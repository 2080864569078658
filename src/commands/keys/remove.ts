import { openCustodian } from '../../actions/custodian/custodian.ts';
import { removeReader } from '../../actions/keys.ts';
import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../../cli/custodian-flags.ts';

export default class KeysRemove extends AgentCommand {
  static override summary = 'take a reader away: it opens nothing that is sealed from now on';
  static override usage = 'keys remove RECIPIENT';
  static override description = 'RECIPIENT, or the beginning of it. What a reader had, it may have kept: nothing takes that back.';
  static override statuses = ['11 busy', '14 may not act'];
  static override args = { recipient: Args.string({ required: true }) };
  static override flags = CUSTODIAN_FLAGS;

  async answer(input: CommandInput, { ports }: Context): Promise<Answer> {
    const custodian = (await openCustodian(ports, custodianSource(input))) ?? undefined;
    const { session } = await removeReader(ports, String(input.args['recipient']), { custodian });
    return {
      data: { readers: session.state.keys.readers, seq: session.state.seq },
      text: `it opens nothing that is sealed from now on (record ${String(session.state.seq)}); what it had, it may have kept\n`,
    };
  }
}
