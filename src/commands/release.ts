import { release } from '../actions/release.ts';
import { AgentCommand, type Answer, type Context } from '../cli/command.ts';

export default class Release extends AgentCommand {
  static override summary = 'put queues and schedules back that a rehome set aside, and record that';
  static override usage = 'release';
  static override description =
    'What waits in them is then sent or run again from here. Look at them first: their names end in .perdure-held.';
  static override statuses = ['11 a process writes, or a guard runs', '14 may not act'];

  async answer(_: unknown, { ports }: Context): Promise<Answer> {
    const result = await release(ports);
    const { name, released, recorded } = result;
    const text =
      released.length === 0
        ? `nothing of ${name} is held\n`
        : `${released.map((path) => `released: ${path}\n`).join('')}${recorded === null ? '' : `record ${String(recorded)}\n`}`;
    return { data: result, text };
  }
}
