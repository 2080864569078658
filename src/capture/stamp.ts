import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { finishDigest } from '../core/digest.ts';

/** A name with what it is; null where that could not be seen. */
export type Seen = readonly [name: string, stat: BigIntStats | null];

/** Whether a name is that of a directory. */
export function isDirectory([, stat]: Seen): boolean {
  return stat?.isDirectory() === true;
}

/** What stands for all that was seen of a directory; null where it could change unseen, or holds what is looked at each time. */
export function stampOf(seen: readonly Seen[], settledBefore: bigint): string | null {
  const names: string[] = [];
  const numbers = new BigInt64Array(seen.length * 7);
  let at = 0;
  for (const [name, stat] of seen) {
    if (stat === null) return null;
    const isDirectory = stat.isDirectory();
    if (!isDirectory && (stat.nlink > 1n || stat.ctimeNs >= settledBefore)) return null;
    names.push(name);
    numbers[at++] = stat.mode;
    numbers[at++] = stat.uid;
    numbers[at++] = stat.gid;
    numbers[at++] = stat.mtimeNs;
    // A directory is told by its names, which are looked at themselves.
    if (isDirectory) continue;
    numbers[at++] = stat.size;
    numbers[at++] = stat.ctimeNs;
    numbers[at++] = stat.ino;
  }
  const whole = createHash('sha256')
    .update(names.join('/'))
    .update('//')
    .update(new Uint8Array(numbers.buffer, 0, at * 8));
  return finishDigest(whole).slice(0, 32);
}
