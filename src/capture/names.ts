import { readdirSync } from 'node:fs';
import { nameFromBytes } from '../core/name.ts';

/** The names in a directory, sorted. */
export function readNames(target: string | Buffer): string[] {
  const names = readdirSync(target, 'utf8');
  // Where a name may have been no UTF-8, the bytes are asked for.
  const all = names.some((name) => name.includes('\ufffd')) ? readdirSync(target, 'buffer').map(nameFromBytes) : names;
  return all.sort();
}
