import { guard } from '../actions/guard.ts';
import { openSession } from '../actions/session/session.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { guardUnit } from '../cli/units.ts';
import { AgentError } from '../core/errors.ts';

export default class Guard extends AgentCommand {
  static override summary = 'run a command only while this host may act';
  static override usage = 'guard [--shared | --unit] -- CMD…';
  static override description = `Exports PERDURE_TOKEN (<agent id>:<epoch>, not a secret) and passes the command's status through (128 + signal; 127 where
it is not found). When the right to act ends, every process of the command ends and the status is 14.

It ends what it can reach: the members of a cgroup where it may make one, all that descend from the command, and all whose
environment has the guard's mark. It does not reach a process that left the cgroup, or
without a cgroup one that both left the parent chain and cleaned its environment; nor work handed to a daemon that was
there before, a container, or another host. What the command leaves behind when it ends is ended, too.

'guard --unit -- CMD' prints a systemd unit.`;
  static override examples = ['agent guard -- ./run-ada'];
  static override statuses = ['11 another guard runs', '14 may not act, or no longer', '15 stale'];
  static override flags = {
    shared: Flags.boolean({ summary: 'beside other guards that say --shared, too' }),
    unit: Flags.boolean({ summary: 'print a systemd unit that does this, and run nothing' }),
  };
  static override strict = false;

  async answer({ flags, argv }: CommandInput, { ports, terminal, rest }: Context): Promise<Answer> {
    if (rest.length === 0 || argv.length > 0)
      throw new AgentError('USAGE_WRONG', argv.length > 0 ? `'${argv[0] ?? ''}' stands before --` : 'no command is given', {
        hints: [{ command: 'agent guard -- CMD' }],
      });
    if (flags['unit'] === true) {
      const { root, name } = await openSession(ports);
      return { document: await guardUnit(terminal, { root, name, command: rest }) };
    }
    const status = await guard(ports, {
      command: rest,
      shared: flags['shared'] === true,
      env: terminal.env,
      cwd: terminal.cwd,
      onSignal: (end) => terminal.onSignal(end),
    });
    return { status, document: '' };
  }
}
