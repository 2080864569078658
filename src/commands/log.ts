import { log } from '../actions/log.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';

export default class Log extends AgentCommand {
  static override summary = 'list the records of the ledger, newest first';
  static override usage = 'log [-n COUNT]';
  static override flags = { limit: Flags.integer({ char: 'n', min: 1, summary: 'so many at the most', helpValue: 'COUNT' }) };

  async answer({ flags }: CommandInput, { ports }: Context): Promise<Answer> {
    const { name, entries } = await log(ports, { limit: flags['limit'] as number | undefined });
    const lines = entries.map(
      (one) =>
        `${String(one.seq).padStart(5)}  ${one.at.slice(0, 19)}Z  epoch ${String(one.epoch)}  ${one.kind.padEnd(10)}  ${one.by}: ${one.text}${one.message === undefined ? '' : `\n       ${one.message}`}\n`,
    );
    return { data: { name, records: entries }, text: lines.join('') };
  }
}
