import { closeSync } from 'node:fs';
import { surveyed } from '../../capture/survey.ts';
import { openPlain } from '../../capture/lane/pieces.ts';
import { fill } from '../../core/bytes.ts';
import { fsPath, showName } from '../../core/name.ts';
import type { Profile } from '../../profile/profile.ts';
import type { Rewrite } from './change-staged.ts';

/** No more of a file is looked through. */
const LIMIT = 16 * 1024 * 1024;
const BINARY = 4096;

/** Files that travel and still name one of some texts (old places, the old host), and how often. Looks into text files alone. */
export function mentionsOf(root: string, profile: Profile, texts: readonly string[]): readonly Rewrite[] {
  const needles = texts.map((one) => Buffer.from(one));
  const found: Rewrite[] = [];
  for (const { path, stat, class: kind } of surveyed(root, profile)) {
    if (!stat.isFile() || ['secret', 'host', 'volatile'].includes(kind)) continue;
    const bytes = read(fsPath(root, path), Math.min(LIMIT, Number(stat.size)));
    if (bytes === null || bytes.subarray(0, BINARY).includes(0)) continue;
    const count = needles.reduce((sum, needle) => sum + occurrences(bytes, needle), 0);
    if (count > 0) found.push({ path: showName(path), count });
  }
  return found;
}

function occurrences(bytes: Buffer, needle: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) count++;
  return count;
}

function read(path: string | Buffer, length: number): Buffer | null {
  try {
    const fd = openPlain(path);
    try {
      return fill(fd, Buffer.allocUnsafe(length), 0);
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}
