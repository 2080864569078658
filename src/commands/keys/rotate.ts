import { rotateKeys } from '../../actions/keys.ts';
import { AgentCommand, type Answer, type Context } from '../../cli/command.ts';

export default class KeysRotate extends AgentCommand {
  static override summary = 'open new store keys for all that is sealed from now on';
  static override usage = 'keys rotate';
  static override description = 'After a store key may have leaked. Readers stay; older packs stay under their older keys.';
  static override statuses = ['11 busy', '14 may not act'];

  async answer(_: unknown, { ports }: Context): Promise<Answer> {
    const { session } = await rotateKeys(ports);
    const { main, secret } = session.state.keys;
    return {
      data: { main, secret, seq: session.state.seq },
      text: `new store keys ${main ?? ''} and ${secret ?? ''} (record ${String(session.state.seq)}); what changes from now on is sealed to them\n`,
    };
  }
}
