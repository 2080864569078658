import { lstatSync, lutimesSync } from 'node:fs';

/** What is added to the microseconds, so that the conversion to what the system takes ends on the wanted one. */
const NUDGE = 0.3;

/**
 * Sets the time of a file, directory or link (never following it) to a microsecond since 1970, given as a decimal. Node
 * takes seconds as a floating number and sets no nanoseconds; 0.3 µs more reaches each microsecond exactly. Before 1970
 * libuv rounds toward zero in some versions and down in others, and a number below zero would be taken for now; there
 * the time goes in as text, and is looked at.
 */
export function setTime(path: string | Buffer, microseconds: string): void {
  const wanted = BigInt(microseconds);
  const at = (nudge: number): number => Number(wanted / 1_000_000n) + (Number(wanted % 1_000_000n) + nudge) / 1_000_000;
  if (wanted >= 0n) {
    lutimesSync(path, at(NUDGE), at(NUDGE));
    return;
  }
  for (const nudge of [NUDGE, -NUDGE, 0]) {
    lutimesSync(path, String(at(nudge)), String(at(nudge)));
    const { mtimeNs } = lstatSync(path, { bigint: true });
    if (mtimeNs / 1000n - (mtimeNs % 1000n < 0n ? 1n : 0n) === wanted) return;
  }
}
