import type { CheckpointResult } from '../../actions/checkpoint.ts';
import type { PackResult } from '../../actions/pack.ts';
import { statesOf } from '../../actions/state/revision.ts';
import type { Answer } from '../command.ts';
import { count, firstLines, showBytes } from '../text.ts';
import { STATUS } from '../../core/errors.ts';
import { word } from '../../core/shell.ts';

/** Says what came of `agent checkpoint`, for a person. */
export function checkpointAnswer(done: CheckpointResult, carried: PackResult | null): Answer {
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
    return {
      status: complete ? STATUS.done : STATUS.incomplete,
      data,
      text: `nothing changed since record ${String(seq)}\n${carriedText}`,
      notes: [...firstLines(open, 10), ...firstLines(gaps, 20)],
    };
  }
  const alarms = newAlarms.map((one) => `alarm: ${one.code}: ${one.subject}`);
  const lost = newAlarms.find((one) => one.class === 'memory' || one.class === 'workflow');
  const next = [
    ...(lost === undefined || lost.subject.includes('\\')
      ? []
      : [
          `next: agent restore HEAD~1 ${word(lost.code === 'TABLE_EMPTIED' ? lost.subject.replace(/: table .*$/s, '') : lost.subject)} --yes   # puts it back`,
        ]),
    ...new Set(newAlarms.map((one) => `next: ${one.next ?? 'agent diff HEAD~1'}   # after you looked: agent diff HEAD~1 HEAD`)),
  ];
  return {
    status: complete ? STATUS.done : STATUS.incomplete,
    data,
    text: `record ${String(seq)}: ${facts.consistency}, ${count(facts.coverage.included, 'path')}, ${showBytes(facts.coverage.bytes)}; ${showBytes(storedBytes)} new\n${carriedText}`,
    notes: [...firstLines(alarms, 20), ...firstLines(gaps, 20), ...next],
  };
}
