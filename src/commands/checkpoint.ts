import { checkpoint } from '../actions/checkpoint.ts';
import { openCustodian } from '../actions/custodian/custodian.ts';
import { resolve } from 'node:path';
import { carry } from '../actions/carry.ts';
import { openSession } from '../actions/session/session.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../cli/custodian-flags.ts';
import { checkpointTimer } from '../cli/units.ts';
import { STATUS } from '../core/errors.ts';
import type { Declaration } from '../ledger/record.ts';
import { checkpointAnswer } from '../cli/present/checkpoint.ts';

export default class Checkpoint extends AgentCommand {
  static override summary = 'record the state of the tree; the same state makes no record';
  static override usage = 'checkpoint [-m TEXT] [--declare KIND] [--to DIR] [--timer]';
  static override description =
    'Whether the state was quiesced or live is observed. An alarm (memory that vanished, identity or body that changed) never\ncosts the checkpoint: it is written, the status is 3, and nothing is offered until the change is declared or undone.';
  static override examples = ["agent checkpoint -m 'after the harvest'", 'agent checkpoint --declare evolve'];
  static override statuses = ['3 recorded, with alarms or gaps', '11 busy', '14 may not act', '15 stale'];
  static override flags = {
    timer: Flags.boolean({ summary: 'print a systemd timer and a crontab line that do this, and record nothing' }),
    to: Flags.string({ summary: 'then add what is missing to this bundle directory: the line for cron', helpValue: 'DIR' }),
    ...CUSTODIAN_FLAGS,
    message: Flags.string({ char: 'm', summary: 'why; sealed', helpValue: 'TEXT' }),
    declare: Flags.string({
      multiple: true,
      options: ['identity-update', 'evolve', 'memory-repair'],
      summary: 'a change that is meant: identity-update, evolve (body), memory-repair',
      helpValue: 'KIND',
    }),
  };

  async answer(input: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const { flags } = input;
    const to = flags['to'] as string | undefined;
    if (flags['timer'] === true) {
      const { root, name } = await openSession(ports);
      return { document: await checkpointTimer(terminal, { root, name, to: to === undefined ? undefined : resolve(terminal.cwd, to) }) };
    }
    const options = {
      message: flags['message'] as string | undefined,
      declare: (flags['declare'] as Declaration[] | undefined) ?? [],
      custodian: (await openCustodian(ports, custodianSource(input))) ?? undefined,
    };
    if (to === undefined) return checkpointAnswer(await checkpoint(ports, options), null);
    const result = await carry(ports, { ...options, to });
    if (result.held) return checkpointAnswer(result.checkpoint, result.carried);
    const { why } = result;
    return { status: STATUS.mayNotAct, data: { held: false, why }, notes: [`${why}; nothing to record here`] };
  }
}
