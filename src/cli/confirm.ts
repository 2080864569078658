import { AgentError } from '../core/errors.ts';
import type { Terminal } from './terminal.ts';

/**
 * Makes a person confirm what the program cannot know: `--yes` with `--reason`, or on a terminal the agent's typed name.
 * Returns the reason. Throws ASSERTION_UNCONFIRMED.
 */
export async function confirmAssertion(
  terminal: Terminal,
  {
    name,
    consequence,
    yes,
    reason,
    command,
  }: {
    readonly name: string;
    readonly consequence: string;
    readonly yes: boolean;
    readonly reason: string | undefined;
    readonly command: string;
  },
): Promise<string> {
  if (yes && reason !== undefined) return reason;
  const refuse = (): AgentError =>
    new AgentError('ASSERTION_UNCONFIRMED', consequence, {
      hints: [{ command: `${command} --yes --reason TEXT`, effect: 'you say so, and TEXT is signed and sealed into the ledger' }],
    });
  if (!terminal.interactive) throw refuse();
  terminal.note(consequence);
  if ((await terminal.ask(`type the agent's name (${name}) to say so: `)).trim() !== name) throw refuse();
  return reason ?? (await terminal.ask('reason: '));
}
