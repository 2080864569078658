import { closeSync, fchmodSync, lstatSync, openSync, readSync, renameSync, rmSync } from 'node:fs';
import { isUtf8 } from 'node:buffer';
import { writeAll } from '../../core/bytes.ts';
import { microsecondsOf } from '../../manifest/entry.ts';
import { setTime } from '../times.ts';
import { JsonText, type JsonPlaces } from './json-text.ts';
import type { PathMap } from './path-map.ts';

/** How the text of a file is rewritten: strings of JSON below some names (null: all), or all of it. */
export type TextKind = ({ readonly as: 'json' } & JsonPlaces) | { readonly as: 'text' };

const PART = 1024 * 1024;

/**
 * Rewrites the paths in a file that nobody else has, line by line, and keeps its mode and time. Bytes that are not UTF-8 are kept.
 * Returns how many were rewritten; a file in which there is none stays as it is.
 */
export function rewriteFile(path: string | Buffer, kind: TextKind, map: PathMap): number {
  const json = kind.as === 'json' ? new JsonText(map, kind) : null;
  let count = 0;
  const rewrite = (line: string): string => json?.line(line) ?? map.rewrite(line, () => count++);
  const temporary = Buffer.concat([Buffer.from(path), Buffer.from('.perdure-new')]);
  const stat = lstatSync(path, { bigint: true });
  const from = openSync(path, 'r');
  const to = openSync(temporary, 'wx', 0o600);
  try {
    for (const line of linesOf(from)) {
      // What is no text goes through as it is.
      writeAll(to, isUtf8(line) ? Buffer.from(rewrite(line.toString('utf8'))) : line);
    }
    fchmodSync(to, Number(stat.mode & 0o7777n));
  } finally {
    closeSync(from);
    closeSync(to);
  }
  const found = json?.count ?? count;
  if (found === 0) {
    rmSync(temporary);
    return 0;
  }
  renameSync(temporary, path);
  setTime(path, microsecondsOf(stat.mtimeNs));
  return found;
}

/** The lines of a file with their ends; a last one may have none. */
function* linesOf(fd: number): Generator<Buffer> {
  let rest: Buffer[] = [];
  for (;;) {
    const part = Buffer.allocUnsafe(PART);
    const bytes = part.subarray(0, readSync(fd, part, 0, PART, null));
    if (bytes.length === 0) break;
    let at = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, at)) {
      yield Buffer.concat([...rest, bytes.subarray(at, end + 1)]);
      rest = [];
      at = end + 1;
    }
    if (at < bytes.length) rest.push(bytes.subarray(at));
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}
