import { openCustodian } from '../../actions/custodian/custodian.ts';
import { addPassphrase, addReader } from '../../actions/keys.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../../cli/custodian-flags.ts';
import { readPassphrase } from '../../cli/terminal.ts';
import { AgentError } from '../../core/errors.ts';

export default class KeysAdd extends AgentCommand {
  static override summary = 'let a further age key read all but the secrets';
  static override usage = 'keys add RECIPIENT | keys add --passphrase-file FILE';
  static override description =
    'The reader opens every state that is there and every one that comes, and may not act. A passphrase protects an age\nidentity that travels beside the envelopes; it is read from a file, or - for standard input.';
  static override examples = ['agent keys add age1…', 'agent keys add --passphrase-file ~/.ada-passphrase'];
  static override statuses = ['11 busy', '14 may not act'];
  static override args = { recipient: Args.string() };
  static override flags = {
    'passphrase-file': Flags.string({ summary: 'a file whose first line is a passphrase', helpValue: 'FILE' }),
    ...CUSTODIAN_FLAGS,
  };

  async answer(input: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const recipient = input.args['recipient'] as string | undefined;
    const file = input.flags['passphrase-file'] as string | undefined;
    if ((recipient === undefined) === (file === undefined))
      throw new AgentError('USAGE_WRONG', 'a recipient or a passphrase is needed', { hints: [{ command: 'agent keys add age1…' }] });
    const custodian = (await openCustodian(ports, custodianSource(input))) ?? undefined;
    const result =
      file === undefined
        ? { ...(await addReader(ports, recipient ?? '', { custodian })), recipient: recipient ?? '' }
        : await addPassphrase(ports, await readPassphrase(terminal, file), { custodian });
    const { session, recorded } = result;
    return {
      data: { recorded, recipient: result.recipient, readers: session.state.keys.readers, seq: session.state.seq },
      text: recorded
        ? `${result.recipient} reads ${session.name} from now on, but for its secrets (record ${String(session.state.seq)})\nnext: agent pack -o DIR   # brings it the envelopes\n`
        : `${result.recipient} reads ${session.name} already\n`,
    };
  }
}
