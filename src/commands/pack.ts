import { pack } from '../actions/pack.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { count, showBytes } from '../cli/text.ts';
import { AgentError } from '../core/errors.ts';

export default class Pack extends AgentCommand {
  static override summary = 'write a bundle: all that travels, sealed';
  static override usage = 'pack [REV] [-o FILE.tar|DIR|-] [--include-secrets]';
  static override description =
    'Into a bundle directory it adds what is missing. While an offer is open, packs that its target has are left out.';
  static override examples = [
    'agent pack -o ../ada.tar',
    'agent pack -o /mnt/nas/ada',
    "agent pack -o - | ssh vps 'perdure rehydrate - ada'",
  ];
  static override statuses = ['12 no key fits', '13 damaged', '15 the bundle there is newer'];
  static override args = { rev: Args.string() };
  static override flags = {
    output: Flags.string({ char: 'o', summary: 'a .tar file, a directory, or - for standard output', helpValue: 'FILE' }),
    'include-secrets': Flags.boolean({ summary: 'seal the secrets to the target of the open offer, too' }),
  };

  async answer({ flags, args }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const output = (flags['output'] as string | undefined) ?? (terminal.outIsTerminal ? undefined : '-');
    if (output === undefined || (output === '-' && terminal.outIsTerminal))
      throw new AgentError('USAGE_WRONG', 'a bundle is not for a terminal', { hints: [{ command: 'agent pack -o ../agent.tar' }] });
    const result = await pack(ports, {
      revision: args['rev'] as string | undefined,
      output,
      includeSecrets: flags['include-secrets'] === true,
      write: (bytes) => terminal.write(bytes),
    });
    const { session, bytes, packs, leftOut, secretsFor } = result;
    const line = `${output === '-' ? 'bundle' : output}: ${session.name} up to record ${String(session.chain.state.seq)}, ${count(packs, 'pack')}, ${showBytes(bytes)} written${leftOut === 0 ? '' : `, ${String(leftOut)} packs left out that the target has`}${secretsFor === null ? '' : `, secrets sealed to ${secretsFor}`}`;
    if (output === '-') return { document: '', notes: [line] };
    return { data: { output, bytes, packs, leftOut, secretsFor, seq: session.chain.state.seq }, text: `${line}\n` };
  }
}
