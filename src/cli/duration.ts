import { AgentError } from '../core/errors.ts';

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a span of time such as `500ms`, `30s` (also `30`), `5m`, `1h` or `2d`, in milliseconds. Throws USAGE_WRONG. */
export function duration(text: string, example: string): number {
  const match = /^([0-9]{1,6})(ms|s|m|h|d)?$/.exec(text);
  if (match === null)
    throw new AgentError('USAGE_WRONG', `'${text}' is no time`, { hints: [{ command: example, effect: 'also 500ms, 5m, 1h, 2d' }] });
  return Number(match[1]) * UNITS[(match[2] ?? 's') as keyof typeof UNITS];
}
