import { resume } from '../actions/resume.ts';
import { openSession } from '../actions/session/session.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { confirmAssertion } from '../cli/confirm.ts';
import { hookNotes } from '../cli/text.ts';
import { AgentError } from '../core/errors.ts';

const CONSEQUENCE = {
  here: 'this directory on this host becomes the agent: you say that no other copy acts as it, here or on the machine that this home came from',
  'accept-loss': 'what this host recorded after this tree is given up for good, and the agent goes on from the older state',
} as const;

export default class Resume extends AgentCommand {
  static override summary = 'let the agent act again on the host that holds it';
  static override usage = 'resume [--here | --accept-loss] [--yes --reason TEXT]';
  static override examples = ['agent resume', "agent resume --here --yes --reason 'restored after the disk died'"];
  static override statuses = ['14 may not act', '15 stale or forked'];
  static override flags = {
    here: Flags.boolean({ summary: 'you say that this host and directory are the agent', exclusive: ['accept-loss'] }),
    'accept-loss': Flags.boolean({ summary: 'go on from an older state of this host' }),
    yes: Flags.boolean({ summary: 'do not ask; with --reason' }),
    reason: Flags.string({ summary: 'why; signed and sealed into the ledger', helpValue: 'TEXT' }),
  };

  async answer({ flags }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const assert = flags['here'] === true ? 'here' : flags['accept-loss'] === true ? 'accept-loss' : undefined;
    let reason = flags['reason'] as string | undefined;
    if (assert === undefined && (flags['yes'] === true || reason !== undefined))
      throw new AgentError('USAGE_WRONG', '--yes and --reason belong to --here or --accept-loss');
    if (assert !== undefined) {
      const { name } = await openSession(ports);
      reason = await confirmAssertion(terminal, {
        name,
        consequence: CONSEQUENCE[assert],
        yes: flags['yes'] === true,
        reason,
        command: `agent resume --${assert}`,
      });
    }
    const { session, recorded, hooks, units } = await resume(ports, { assert, reason });
    const text = recorded
      ? `${session.name} may act here again (epoch ${String(session.state.epoch)}, record ${String(session.state.seq)})`
      : `${session.name} may act here already`;
    return {
      data: { recorded, seq: session.state.seq, epoch: session.state.epoch, hooks, units },
      text: `${text}\n`,
      notes: [...hookNotes(hooks, 'start'), ...units.map((unit) => `enabled and started again: ${unit}`)],
    };
  }
}
