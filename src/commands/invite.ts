import { invite } from '../actions/invite.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';

export default class Invite extends AgentCommand {
  static override summary = "print this host's invite, the first step to bring an agent here";
  static override usage = 'invite [--pq]';
  static override description =
    'Run it on the host that the agent is to move to; give what it prints to `agent fence --to` on the host that holds the agent.\nIt makes the keys of this host where there are none. The six words on stderr let a person compare the two ends.';
  static override examples = ['ssh vps perdure invite | perdure fence --to - --accept-new', 'agent invite > vps.invite'];

  static override flags = { pq: Flags.boolean({ summary: 'for an agent with hybrid keys (init --pq)' }) };

  async answer({ flags }: CommandInput, { ports }: Context): Promise<Answer> {
    const { document, words, label } = await invite(ports, { hybrid: flags['pq'] === true });
    return { document, notes: [`${label}: ${words}`] };
  }
}
