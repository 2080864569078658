import type { Digest } from '../../core/digest.ts';
import type { LedgerState } from '../../ledger/state.ts';
import type { Facts } from '../../manifest/facts.ts';
import type { StateName } from './revision.ts';

/** How many states to keep: the newest ones, and the newest one of each hour, day, … that has any. */
export interface Retention {
  readonly last?: number | undefined;
  readonly hourly?: number | undefined;
  readonly daily?: number | undefined;
  readonly weekly?: number | undefined;
  readonly monthly?: number | undefined;
  readonly yearly?: number | undefined;
}

/** Whether a rule is given at all; without any, everything is kept. */
export function hasRules(rules: Retention): boolean {
  return Object.values(rules).some((one) => one !== undefined);
}

/**
 * The seqs of the states to keep by the rules, as restic and borg count: from the newest one back, a bucket counts once, and
 * its newest state stands for it. Times are taken in UTC.
 */
export function keptStates(states: readonly StateName[], rules: Retention): ReadonlySet<number> {
  const kept = new Set<number>();
  const newest = [...states].reverse();
  for (const { seq } of newest.slice(0, rules.last ?? 0)) kept.add(seq);
  for (const [count = 0, bucketOf] of [
    [rules.hourly, (at: string): string => at.slice(0, 13)],
    [rules.daily, (at: string): string => at.slice(0, 10)],
    [rules.weekly, weekOf],
    [rules.monthly, (at: string): string => at.slice(0, 7)],
    [rules.yearly, (at: string): string => at.slice(0, 4)],
  ] as const) {
    const seen = new Set<string>();
    for (const { seq, at } of newest) {
      const bucket = bucketOf(at);
      if (seen.has(bucket) || seen.size >= count) continue;
      seen.add(bucket);
      kept.add(seq);
    }
  }
  return kept;
}

/** The week that an instant is in, by the day on which it began: a Monday. 1970 began with a Thursday. */
function weekOf(at: string): string {
  const days = Math.floor(Date.parse(at) / 86_400_000);
  return String(Math.floor((days + 3) / 7));
}

/** Seqs as ranges. A range goes on over records that name no state. */
export function rangesOf(states: readonly StateName[], kept: ReadonlySet<number>): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  let open = false;
  for (const { seq } of states) {
    const last = ranges.at(-1);
    if (kept.has(seq)) open = false;
    else if (open && last !== undefined) last[1] = seq;
    else {
      ranges.push([seq, seq]);
      open = true;
    }
  }
  return ranges;
}

/** The newest state that is complete and raised no alarm. */
export async function lastWithoutAlarms(
  states: readonly StateName[],
  factsOf: (manifest: Digest) => Promise<Facts | null>,
): Promise<StateName | null> {
  for (const state of [...states].reverse()) {
    const facts = await factsOf(state.manifest);
    if (facts !== null && facts.alarms.length === 0 && facts.coverage.complete) return state;
  }
  return null;
}

/** What a ledger needs whatever the rules say: the newest state, and both ends of an open offer. */
export function pinnedStates(states: readonly StateName[], { manifest, offer }: LedgerState): readonly number[] {
  const pinned = new Set([manifest, offer?.manifest, offer?.since]);
  return states.filter((one) => pinned.has(one.manifest)).map((one) => one.seq);
}
