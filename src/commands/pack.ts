import { keyOf } from '../actions/session/trust.ts';
import { pack } from '../actions/pack.ts';
import { hasHost, openSession } from '../actions/session/session.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { readHost } from '../cli/host-argument.ts';
import { AgentError } from '../core/errors.ts';
import { packLine, packNotes } from '../cli/present/pack.ts';

export default class Pack extends AgentCommand {
  static override summary = 'write a bundle: all that travels, sealed';
  static override usage = 'pack [REV] [-o FILE.tar|DIR|-] [--for INVITE] [--include-secrets] [--check-medium]';
  static override description =
    'Into a bundle directory it adds what is missing. While an offer is open, packs that its target has are left out. With\n--for while the agent runs, the bulk goes ahead: what was packed for that host before is left out the next time.';
  static override examples = [
    'agent pack -o ../ada.tar',
    'agent pack -o /media/stick/ada --check-medium --verify-script',
    'agent pack --for vps.invite -o bulk.tar; agent fence --to vps.invite --accept-new; agent pack -o rest.tar',
    "agent pack -o - | ssh vps 'perdure rehydrate - ada'",
  ];
  static override statuses = ['12 no key fits', '13 damaged', '15 the bundle there is newer'];
  static override args = { rev: Args.string() };
  static override flags = {
    output: Flags.string({ char: 'o', summary: 'a .tar file, a directory, or - for standard output', helpValue: 'FILE' }),
    for: Flags.string({
      summary: 'the host that it is for (an invite, or a known host): leave out what was packed for it',
      helpValue: 'INVITE',
    }),
    full: Flags.boolean({ summary: 'leave nothing out' }),
    'include-secrets': Flags.boolean({ summary: 'seal the secrets to the target of the open offer, too' }),
    'check-medium': Flags.boolean({ summary: "read back what was written, past the system's cache" }),
    'verify-script': Flags.boolean({ summary: 'put verify.sh into it, which checks it with sha256sum and ssh-keygen' }),
  };

  async answer({ flags, args }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const output = (flags['output'] as string | undefined) ?? (terminal.outIsTerminal ? undefined : '-');
    if (output === undefined || (output === '-' && terminal.outIsTerminal))
      throw new AgentError('USAGE_WRONG', 'a bundle is not for a terminal', { hints: [{ command: 'agent pack -o ../agent.tar' }] });
    if (output === '-' && flags['check-medium'] === true)
      throw new AgentError('USAGE_WRONG', 'a stream has no medium to read back from', {
        hints: [{ command: 'agent pack -o FILE --check-medium' }],
      });
    const named = flags['for'] as string | undefined;
    const session = named === undefined ? null : await openSession(ports);
    const target =
      named === undefined || session === null || !hasHost(session) ? undefined : keyOf(session, await readHost(terminal, named));
    const result = await pack(ports, {
      revision: args['rev'] as string | undefined,
      output,
      target,
      full: flags['full'] === true,
      includeSecrets: flags['include-secrets'] === true,
      checkMedium: flags['check-medium'] === true,
      script: flags['verify-script'] === true,
      write: (bytes) => terminal.write(bytes),
    });
    const line = packLine(result);
    if (output === '-') return { document: '', notes: [line] };
    const { session: packed, ...data } = result;
    return { data: { ...data, seq: packed.chain.state.seq }, text: `${line}\n`, notes: packNotes(result) };
  }
}
