import { openCustodian } from '../actions/custodian/custodian.ts';
import { GRACE, gc, pruneBundle, type GcResult } from '../actions/gc.ts';
import type { Pruned } from '../actions/sealed/prune.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../cli/custodian-flags.ts';
import { duration } from '../cli/duration.ts';
import { count, showBytes } from '../cli/text.ts';
import { AgentError } from '../core/errors.ts';
import { word } from '../core/shell.ts';

const keep = (what: string): object =>
  Flags.integer({ summary: `keep the newest state of each of the last N ${what}`, helpValue: 'N', min: 0 });

export default class Gc extends AgentCommand {
  static override summary = 'give up old states by rules, fold small packs, free space';
  static override usage = 'gc [--keep-last N] [--keep-hourly N] … [--grace TIME] [--bundle DIR] [--dry-run]';
  static override description =
    'Without rules no state is given up. The newest state, the last one without alarms and what is offered always stay.\nWhat nothing needs any more stays for the time of grace (1d), so that a copy in progress finds it; the next gc after that\nremoves it. --bundle DIR frees space in a bundle directory that knows of an earlier gc.';
  static override examples = [
    'agent gc --keep-last 10 --keep-hourly 48 --keep-daily 30 --keep-monthly 24',
    'agent gc --bundle /mnt/nas/ada',
  ];
  static override statuses = ['11 busy', '14 may not act', '15 stale'];
  static override flags = {
    'keep-last': Flags.integer({ summary: 'keep the newest N states', helpValue: 'N', min: 0 }),
    'keep-hourly': keep('hours'),
    'keep-daily': keep('days'),
    'keep-weekly': keep('weeks'),
    'keep-monthly': keep('months'),
    'keep-yearly': keep('years'),
    grace: Flags.string({ default: `${String(GRACE / 86_400_000)}d`, summary: 'how long what nothing needs stays', helpValue: 'TIME' }),
    bundle: Flags.string({ summary: 'free space in this bundle directory instead', helpValue: 'DIR' }),
    'dry-run': Flags.boolean({ summary: 'only tell what would be done' }),
    'ignore-clock': Flags.boolean({ summary: 'the clock was wrong when a record was written, and is right now' }),
    ...CUSTODIAN_FLAGS,
  };

  async answer(input: CommandInput, { ports }: Context): Promise<Answer> {
    const { flags } = input;
    const number = (name: string): number | undefined => flags[`keep-${name}`] as number | undefined;
    const rules = {
      last: number('last'),
      hourly: number('hourly'),
      daily: number('daily'),
      weekly: number('weekly'),
      monthly: number('monthly'),
      yearly: number('yearly'),
    };
    const grace = duration(String(flags['grace']), 'agent gc --grace 1d');
    const dryRun = flags['dry-run'] === true;
    const ignoreClock = flags['ignore-clock'] === true;
    const directory = flags['bundle'] as string | undefined;
    if (directory === undefined) {
      const custodian = (await openCustodian(ports, custodianSource(input))) ?? undefined;
      const result = await gc(ports, { keep: rules, grace, dryRun, custodian, ignoreClock });
      return { data: { ...result, dryRun }, text: textOf(result, dryRun) };
    }
    if (Object.values(rules).some((one) => one !== undefined))
      throw new AgentError('USAGE_WRONG', '--bundle takes no rules: what a bundle keeps is what its ledger says', {
        hints: [{ command: `agent gc --keep-last 10 && agent pack -o ${word(directory)} && agent gc --bundle ${word(directory)}` }],
      });
    const pruned = await pruneBundle(ports, { directory, grace, dryRun, ignoreClock });
    return { data: { bundle: directory, pruned, dryRun }, text: `${directory}: ${prunedText(pruned, dryRun)}\n` };
  }
}

function textOf({ kept, expired, folded, pruned }: GcResult, dryRun: boolean): string {
  const parts = [
    `${count(kept, 'state')} kept`,
    ...(expired === 0 ? [] : [`${String(expired)} ${dryRun ? 'would be given up' : 'given up'}`]),
    ...(folded === null ? [] : [`${count(folded.packs, 'pack')} folded into ${String(folded.into)}`]),
    prunedText(pruned, dryRun),
  ];
  return `${parts.join(', ')}\n`;
}

function prunedText({ files, bytes, waiting }: Pruned, dryRun: boolean): string {
  const freed = `${count(files, 'file')} (${showBytes(bytes)}) ${dryRun ? 'would be removed' : 'removed'}`;
  return waiting === 0 ? freed : `${freed}, ${showBytes(waiting)} more after the time of grace`;
}
