import { decline } from '../actions/answer.ts';
import { AgentCommand, type Answer, type Context } from '../cli/command.ts';

export default class Decline extends AgentCommand {
  static override summary = 'give an offer back; prints the reply for the source';
  static override usage = 'decline';
  static override description =
    'This host can never take the offer up afterwards. Give the reply to `agent close` on the source, which then may act again.';
  static override examples = ["ssh vps 'perdure -C ada decline' | perdure close -"];
  static override statuses = ['4 the tree differs', '13 damaged', '14 not offered to this host', '15 stale'];

  async answer(_: unknown, { ports }: Context): Promise<Answer> {
    const { session, reply, missingSecrets } = await decline(ports);
    return {
      document: reply,
      notes: [
        `${session.name} is given back (epoch ${String(session.state.epoch)}, record ${String(session.state.seq)})`,
        ...missingSecrets.map((path) => `still to be supplied: ${path}`),
        'next: agent close REPLY   # on the source',
      ],
    };
  }
}
