import type { Hint } from '../core/errors.ts';

/** Bytes for people: three digits and a unit. */
export function showBytes(bytes: bigint | number | string): string {
  let value = Number(bytes);
  for (const unit of ['B', 'KiB', 'MiB', 'GiB']) {
    if (value < 1000) return `${unit === 'B' ? String(value) : value.toPrecision(3)} ${unit}`;
    value /= 1024;
  }
  return `${value.toPrecision(3)} TiB`;
}

/** A span of time for people. */
export function showAge(ms: number): string {
  const units = [
    ['day', 86_400_000],
    ['hour', 3_600_000],
    ['minute', 60_000],
    ['second', 1000],
  ] as const;
  const [name, size] = units.find(([, one]) => ms >= 2 * one) ?? ['second', 1000];
  return count(Math.floor(ms / size), name);
}

/** A number with its noun. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${String(number)} ${number === 1 ? one : many}`;
}

/** Lines of two columns. */
export function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`).join('');
}

/** Next steps as lines that can be pasted, each with what it costs. */
export function nextLines(hints: readonly Hint[]): readonly string[] {
  return hints.map(({ command, effect }) => `next: ${command}${effect === undefined ? '' : `   # ${effect}`}`);
}

/** At most so many lines, and how many more there are. */
export function firstLines(lines: readonly string[], most: number): readonly string[] {
  return lines.length <= most ? lines : [...lines.slice(0, most), `… and ${String(lines.length - most)} more`];
}

/** What to say where a profile's commands were not run. */
export function hookNotes(outcome: 'none' | 'run' | 'not-allowed' | 'moved', kind: 'stop' | 'start'): readonly string[] {
  if (outcome === 'moved')
    return ['it is not at home here yet, and nothing was started', 'next: agent rehome   # makes it one of this place; --dry-run shows it'];
  return outcome === 'not-allowed'
    ? [`the profile's ${kind} commands were not run`, 'next: agent profile allow   # shows them, and lets this host run them']
    : [];
}

/** The mark of a change. */
export const CHANGE_MARK = { added: 'A', removed: 'D', changed: 'M' } as const;
