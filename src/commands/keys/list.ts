import { listKeys } from '../../actions/keys.ts';
import { AgentCommand, type Answer, type Context } from '../../cli/command.ts';
import { columns } from '../../cli/text.ts';

export default class KeysList extends AgentCommand {
  static override summary = 'who reads the agent, and by which keys it is sealed';
  static override usage = 'keys list';
  static override statuses = ['10 no agent here', '13 damaged'];

  async answer(_: unknown, { ports }: Context): Promise<Answer> {
    const { session: _session, ...list } = await listKeys(ports);
    const rows = [
      ['holder', list.holder],
      ...list.recovery.map(({ key, recipient }) => ['recovery key', `${key} ${recipient}`] as const),
      ...(list.recovery.length === 0 ? [['recovery key', 'none: a lost host is a lost agent'] as const] : []),
      ...list.readers.map(({ recipient, passphrase }) => ['reader', `${recipient}${passphrase ? ' (under a passphrase)' : ''}`] as const),
      ...list.storeKeys.map(
        ({ id, use, current, opens }) =>
          [
            'store key',
            `${id} ${use === 'main' ? 'all but secrets' : 'secrets'}${current ? ', current' : ''}${opens ? '' : ', sealed to others'}`,
          ] as const,
      ),
    ] as readonly (readonly [string, string])[];
    return { data: list, text: `${columns(rows)}${list.stale ? 'the next checkpoint opens new store keys\n' : ''}` };
  }
}
