import type { RehomeResult } from '../../actions/rehome.ts';
import { word } from '../../core/shell.ts';
import { count, firstLines } from '../text.ts';

const SHOWN = 20;

/** Says what a rehome did or would do, for a person. */
export function rehomeText(
  result: RehomeResult,
  { isPlan }: { readonly isPlan: boolean },
): { readonly text: string; readonly notes: readonly string[] } {
  const { name, from, outside, moved, rewrites, renames, dropped, held, advanced, cleared, unwritten, mentions, redo, recorded } = result;
  if (from === null && moved.length === 0) return { text: `${name} is at home here; nothing to do\n`, notes: [] };
  const lines = [
    ...moved.map((one) => `${one.from} is now ${one.to}`),
    ...firstLines(
      rewrites.map(({ path, count: paths }) => `  ${isPlan ? 'looked through' : `${count(paths, 'path')} rewritten`}: ${path}`),
      SHOWN,
    ),
    ...renames.map((one) => `  renamed: ${one.from} to ${one.to}`),
    ...outside.map(({ path, how }) =>
      how === 'beside'
        ? `  something else is in place, so it came beside it: ${path}`
        : `  ${how === 'same' ? 'there already' : isPlan ? 'to be put in place' : 'put in place'}: ${path}`,
    ),
    ...dropped.map(({ path, about }) => `  dropped: ${path} (${about})`),
    ...held.map(({ path, about }) => `  held: ${path} (${about})`),
    ...advanced.map((path) => `  advanced: ${path}`),
    ...cleared.map(({ path, table }) => `  cleared: ${path}, table ${table}`),
    isPlan
      ? 'next: agent rehome   # does it'
      : recorded === null
        ? 'nothing had to be recorded'
        : `record ${String(recorded)}: at home here`,
    ...(isPlan || held.length === 0
      ? []
      : ['next: agent release   # when you looked at what is held: it is put back, and is sent or runs']),
  ];
  const notes = [
    ...unwritten.map(({ path, why }) => `not rewritten: ${path}: ${why}`),
    ...(unwritten.length === 0
      ? []
      : [
          `next: agent rehome ${moved.map((one) => `--map ${word(`${one.from}=${one.to}`)}`).join(' ')}   # when what stands in the way is gone`,
        ]),
    ...redo.map(({ path, about }) => `to do again here: ${about} (${path})`),
    ...(mentions.length === 0
      ? []
      : [`still named in text, and left as it is: the old place or host, in ${count(mentions.length, 'file')}`]),
    ...firstLines(
      mentions.map(({ path, count: times }) => `  ${path} (${count(times, 'time')})`),
      SHOWN,
    ),
  ];
  return { text: `${lines.join('\n')}\n`, notes };
}
