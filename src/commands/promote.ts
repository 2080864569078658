import { promote } from '../actions/answer.ts';
import { word } from '../core/shell.ts';
import { AgentCommand, type Answer, type Context } from '../cli/command.ts';

export default class Promote extends AgentCommand {
  static override summary = 'take over: the only promotion point; prints the reply for the source';
  static override usage = 'promote';
  static override description =
    'Every byte of store and tree is checked against the offered state before. Give the reply to `agent close` on the source.';
  static override examples = ["ssh vps 'perdure -C ada promote' | perdure close -"];
  static override statuses = ['4 the tree differs', '13 damaged', '14 not offered to this host', '15 stale'];

  async answer(_: unknown, { ports }: Context): Promise<Answer> {
    const { session, reply, missingSecrets, moved } = await promote(ports);
    return {
      document: reply,
      notes: [
        `${session.name} may act here (epoch ${String(session.state.epoch)}, record ${String(session.state.seq)})`,
        ...missingSecrets.map((path) => `still to be supplied: ${path}`),
        'next: agent close REPLY   # on the source',
        ...(moved ? [`next: agent -C ${word(session.root)} rehome   # here, before it runs: its files name the old place`] : []),
      ],
    };
  }
}
