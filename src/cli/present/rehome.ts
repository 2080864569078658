import type { RehomeResult } from '../../actions/rehome.ts';
import { word } from '../../core/shell.ts';
import { count, firstLines } from '../text.ts';

const SHOWN = 20;
const COLUMNS = 5;

/** Says what a rehome did or would do, for a person; `again` are the further places that were named. */
export function rehomeText(
  result: RehomeResult,
  { isPlan, again }: { readonly isPlan: boolean; readonly again: readonly string[] },
): { readonly text: string; readonly notes: readonly string[] } {
  const { name, from, moved, held, unwritten, mentions, unsearched, redo, recorded } = result;
  if (from === null && moved.length === 0 && recorded === null) return { text: `${name} is at home here; nothing to do\n`, notes: [] };
  const lines = [
    ...redo.map(({ path, about }) => `to do again here: ${about} (${path})`),
    ...moved.map((one) => `${one.from} is now ${one.to}`),
    ...doneLines(result, isPlan),
    ...unwritten.map(({ path, why }) => `  ${path}: ${why}`),
    ...(isPlan
      ? again.length === 0
        ? ['next: agent rehome   # does it; --map OLD=NEW takes further places along, such as those of projects']
        : [`next: agent rehome --map ${again.map(word).join(' --map ')}   # does it`]
      : [
          recorded === null ? 'nothing had to be recorded' : `record ${String(recorded)}: at home here`,
          'next: agent status --after-move   # looks whether it woke up as itself',
          ...(held.length === 0 ? [] : ['next: agent release   # when you looked at what is held: it is put back, and is sent or runs']),
        ]),
  ];
  const notes = [
    ...(mentions.length === 0 ? [] : [`still named, and left as it is: the old place or host, in ${count(mentions.length, 'file')}`]),
    ...firstLines(mentions.map(mentionText), SHOWN),
    ...firstLines(
      unsearched.map((path) => `not looked through: ${path}`),
      SHOWN,
    ),
  ];
  return { text: `${lines.join('\n')}\n`, notes };
}

function mentionText({ path, count: times, columns }: RehomeResult['mentions'][number]): string {
  return columns === undefined
    ? `  ${path} (${count(times, 'time')})`
    : `  ${path} (${count(times, 'row')}: ${firstLines(columns, COLUMNS).join(', ')})`;
}

function doneLines({ rewrites, renames, outside, dropped, held, advanced, cleared }: RehomeResult, isPlan: boolean): readonly string[] {
  return [
    ...firstLines(
      rewrites.map(({ path, count: paths }) => `  ${isPlan ? 'looked through' : `${count(paths, 'path')} rewritten`}: ${path}`),
      SHOWN,
    ),
    ...firstLines(
      renames.map((one) => `  renamed: ${one.from} to ${one.to}`),
      SHOWN,
    ),
    ...outside.map(({ path, how }) => `  ${HOW[how](isPlan)}: ${path}`),
    ...dropped.map(({ path, about }) => `  dropped: ${path} (${about})`),
    ...held.map(({ path, about }) => `  held: ${path} (${about})`),
    ...advanced.map((path) => `  advanced: ${path}`),
    ...cleared.map(({ path, table }) => `  cleared: ${path}, table ${table}`),
  ];
}

const HOW = {
  placed: (isPlan: boolean) => (isPlan ? 'to be put in place, or beside what is there' : 'put in place'),
  same: () => 'there already',
  replaced: () => 'put in place of what it had left there',
  left: () => 'not put in place, which is no place of an agent (agent show HEAD:NAME gives it)',
  beside: () => 'something else is in its place, so it came beside it',
} as const;
