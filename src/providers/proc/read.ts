import { isUtf8 } from 'node:buffer';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { nameFromBytes } from '../../core/name.ts';

/** What a file of /proc says; empty where it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Where a link of /proc leads; names that are not UTF-8 as those of a tree. */
export function link(path: string): string {
  try {
    const bytes = readlinkSync(path, 'buffer');
    return isUtf8(bytes)
      ? bytes.toString('utf8')
      : bytes
          .toString('latin1')
          .split('/')
          .map((name) => nameFromBytes(Buffer.from(name, 'latin1')))
          .join('/');
  } catch {
    return '';
  }
}

/** The names in a directory of /proc. */
export function entries(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** State, parent and start of a process; null where there is none of that number. */
export function statOf(pid: number): { readonly state: string; readonly parent: number; readonly start: string } | null {
  const text = readText(`/proc/${String(pid)}/stat`);
  // The program's name stands in brackets and may hold anything, brackets too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.length < 20 ? null : { state: fields[0] ?? '', parent: Number(fields[1]), start: fields[19] ?? '' };
}
