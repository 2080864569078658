import { close } from '../actions/close.ts';
import { resolve } from 'node:path';
import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { readDocument } from '../cli/terminal.ts';

export default class Close extends AgentCommand {
  static override summary = "bring the target's answer home";
  static override usage = 'close REPLY';
  static override description = 'REPLY is a file or -. After promote this host stays fenced for good; after decline it may act again.';
  static override examples = ["ssh vps 'perdure -C ada promote' | perdure close -"];
  static override statuses = ['13 the reply was altered', '15 stale'];
  static override args = { reply: Args.string({ required: true }) };

  async answer({ args }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const path = String(args['reply']);
    const { session, added, answer } = await close(ports, await readDocument(terminal, path === '-' ? path : resolve(terminal.cwd, path)));
    const text =
      answer === 'promote'
        ? `${session.name} has moved (epoch ${String(session.state.epoch)}); this host may not act as it`
        : `${session.name} was declined; it may act here again`;
    return { data: { answer, added, seq: session.state.seq, epoch: session.state.epoch }, text: `${text}\n` };
  }
}
