import { checkpoint, type CheckpointResult } from '../actions/checkpoint.ts';
import { openCustodian } from '../actions/custodian/custodian.ts';
import { resolve } from 'node:path';
import { pack, type PackResult } from '../actions/pack.ts';
import { explainObstacle } from '../actions/session/refusal.ts';
import { openSession } from '../actions/session/session.ts';
import { decide } from '../ledger/decide.ts';
import { statesOf } from '../actions/state/revision.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../cli/custodian-flags.ts';
import { checkpointTimer } from '../cli/units.ts';
import { count, firstLines, showBytes } from '../cli/text.ts';
import { STATUS } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import type { Declaration } from '../ledger/record.ts';

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
    const elsewhere = to === undefined ? null : await heldElsewhere(ports);
    if (elsewhere !== null)
      return { status: STATUS.mayNotAct, data: { held: false, why: elsewhere }, notes: [`agent: ${elsewhere}; nothing to record here`] };
    const done = await checkpoint(ports, {
      message: flags['message'] as string | undefined,
      declare: (flags['declare'] as Declaration[] | undefined) ?? [],
      custodian: (await openCustodian(ports, custodianSource(input))) ?? undefined,
    });
    const carried =
      to === undefined ? null : await pack(ports, { output: to, directory: true, includeSecrets: false, write: () => Promise.resolve() });
    return answerOf(done, carried);
  }
}

/** One line where another host holds the agent, as after a move: cron goes on calling there. */
async function heldElsewhere(ports: Context['ports']): Promise<string | null> {
  const session = await openSession(ports);
  const decision = session.view === null ? null : decide(session.state, session.view, 'checkpoint');
  if (decision === null || decision.allowed || !['SUPERSEDED', 'FOREIGN', 'OFFERED', 'OFFER_ELSEWHERE'].includes(decision.obstacle))
    return null;
  return explainObstacle(session, decision.obstacle).message;
}

function answerOf(done: CheckpointResult, carried: PackResult | null): Answer {
  const { session, recorded, manifest, facts, newAlarms, storedBytes, complete } = done;
  const seq = statesOf(session.chain).at(-1)?.seq ?? 0;
  const carriedText = carried === null ? '' : `${carried.output}: ${showBytes(carried.bytes)} written\n`;
  const data = {
    recorded,
    seq,
    manifest,
    consistency: facts.consistency,
    coverage: facts.coverage,
    alarms: facts.alarms,
    newAlarms,
    findings: facts.findings,
    storedBytes,
    ...(carried === null ? {} : { carried: { output: carried.output, bytes: carried.bytes } }),
  };
  const gaps = facts.findings.map((one) => `${one.code}: ${one.subject}${one.next === undefined ? '' : `   # ${one.next}`}`);
  if (!recorded) {
    const open = facts.alarms.map((one) => `still open: ${one.code}: ${one.subject}   # ${one.next ?? ''}`);
    return { data, text: `nothing changed since record ${String(seq)}\n${carriedText}`, notes: firstLines(open, 10) };
  }
  const alarms = newAlarms.map((one) => `alarm: ${one.code}: ${one.subject}`);
  const lost = newAlarms.find((one) => one.class === 'memory' || one.class === 'workflow');
  const next = [
    ...(lost === undefined || lost.subject.includes('\\')
      ? []
      : [`next: agent restore HEAD~1 ${word(lost.subject)} --yes   # puts it back`]),
    ...new Set(newAlarms.map((one) => `next: ${one.next ?? 'agent diff HEAD~1'}   # after you looked: agent diff HEAD~1 HEAD`)),
  ];
  return {
    status: complete ? STATUS.done : STATUS.incomplete,
    data,
    text: `record ${String(seq)}: ${facts.consistency}, ${count(facts.coverage.included, 'path')}, ${showBytes(facts.coverage.bytes)}; ${showBytes(storedBytes)} new\n${carriedText}`,
    notes: [...firstLines(alarms, 20), ...firstLines(gaps, 20), ...next],
  };
}
