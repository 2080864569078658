import type { StatusResult } from '../../actions/status.ts';
import { CHANGE_MARK, columns, count, firstLines, nextLines, showAge, showBytes } from '../text.ts';

/** Says what came of `agent status`, for a person. */
export function ageNotes({ newest, standing, why }: StatusResult, limit: number): readonly string[] {
  if (standing === 'SUPERSEDED' || standing === 'FOREIGN') return [why];
  if (newest === null) return ['nothing is recorded yet'];
  return newest.age > limit ? [`the newest state is ${showAge(newest.age)} old`] : [];
}

/** Says what came of `agent status`, for a person. */
export function statusText(result: StatusResult): string {
  const { name, agent, root, profile, seq, epoch, standing, why, holder, awaits, newest, changes, guards, elsewhere, home, next } = result;
  const facts = newest?.facts;
  const rows: (readonly [string, string])[] = [
    ['agent', `${name} ${agent.slice(0, 12)}, profile ${profile}, record ${String(seq)}`],
    ['root', root],
    ['may act', standing === 'ACTIVE' ? `yes, here (epoch ${String(epoch)}): ${why}` : `no: ${standing}`],
    ...(standing === 'ACTIVE'
      ? []
      : ([
          ['because', why],
          ['holder', `${holder}, epoch ${String(epoch)}`],
        ] as const)),
    ...(home === null ? [] : ([['at home', `not here: its files are written for ${home}`]] as const)),
    ...(awaits === null ? [] : ([['awaits', awaits]] as const)),
    [
      'captured',
      newest === null
        ? 'nothing yet'
        : facts == null
          ? `record ${String(newest.seq)}, ${newest.at} (sealed to others)`
          : `record ${String(newest.seq)}, ${newest.at}, ${facts.consistency}: ${count(facts.coverage.included, 'path')}, ${showBytes(facts.coverage.bytes)}`,
    ],
    ...(facts == null || facts.alarms.length === 0
      ? []
      : ([
          [
            'alarms',
            firstLines(
              facts.alarms.map((one) => `${one.code} ${one.subject}`),
              3,
            ).join(', '),
          ],
        ] as const)),
    ['changed', changes === null ? 'unknown' : changes.length === 0 ? 'nothing since' : `${count(changes.length, 'path')} since`],
    [
      'enforced',
      guards.length === 0
        ? 'by nothing: no guard runs; a process outside of agent guard is not stopped'
        : guards.map((guard) => `guard ${String(guard.pid)} runs '${guard.command}'`).join('; '),
    ],
    ...(elsewhere.length === 0
      ? []
      : ([
          [
            'elsewhere',
            firstLines(
              elsewhere.map((one) => `${one.captured ? 'captured' : 'not captured'}: ${one.path}`),
              3,
            ).join(', '),
          ],
        ] as const)),
  ];
  const changed = firstLines(
    (changes ?? []).map(({ kind, path }) => `  ${CHANGE_MARK[kind]} ${path}`),
    8,
  );
  return `${columns(rows)}${changed.length === 0 ? '' : `${changed.join('\n')}\n`}${nextLines(next).join('\n')}\n`;
}
