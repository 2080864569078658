import { isDirectoryRoot } from '../../manifest/facts.ts';
import { closeSync, lstatSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { surveyed } from '../../capture/survey.ts';
import { openPlain } from '../../capture/lane/pieces.ts';
import { fill } from '../../core/bytes.ts';
import { fsPath, showName, type RelPath } from '../../core/name.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import type { FileClass, Profile } from '../../profile/profile.ts';
import { outsideOf } from '../session/outside.ts';
import type { Session } from '../session/session.ts';
import { profileOutside } from '../state/outside-capture.ts';
import { inRoot } from '../state/outside-compare.ts';
import type { Sqlite } from '../../providers/sqlite/sqlite.ts';

/** A file that holds what was looked for, and how often; of a database the rows, and the columns. */
export interface Mention {
  readonly path: string;
  readonly count: number;
  readonly columns?: readonly string[];
}

/** What was found, and what could not be looked through. */
export interface Mentions {
  readonly found: readonly Mention[];
  readonly unsearched: readonly string[];
}

/** A tree to look through, or one file of it; `shown` says how its paths are spoken of. */
interface Looked {
  readonly root: string;
  readonly profile: Profile;
  readonly sqlite: Sqlite | null;
  readonly only?: string;
  readonly shown: (path: string) => string;
}

/** Classes that are not looked into: they do not travel, or nothing is to be said of them. */
const CLOSED: readonly FileClass[] = ['secret', 'host', 'volatile'];
/** So much of a file of text is read at a time; a larger database is not looked through. */
const PART = 4 * 1024 * 1024;
const DATABASE_LIMIT = 4 * 1024 ** 3;
const BINARY = 4096;
const LOCK_LIMIT = 5_000;

/** Looks for texts in the text files and databases of an agent that nobody writes, and of what is captured with it from outside. */
export async function mentionsOf(
  { ports, root }: Pick<Session, 'ports' | 'root'>,
  profile: Profile,
  texts: readonly string[],
): Promise<Mentions> {
  const sqlite = await ports.sqlite();
  const all = [mentionsIn({ root, profile, sqlite, shown: (path) => path }, texts)];
  for (const outside of (await outsideOf(ports, root, profile)).filter((one) => one.captured)) {
    const { name, path } = outside;
    const place = isDirectoryRoot(name) ? { root: path } : { root: dirname(path), only: basename(path) };
    const looked = { ...place, profile: profileOutside(outside, profile), sqlite, shown: (inner: string) => inRoot(name, inner) };
    all.push(mentionsIn(looked, texts));
  }
  const done = await Promise.all(all);
  return { found: done.flatMap(({ found }) => found), unsearched: done.flatMap(({ unsearched }) => unsearched) };
}

async function mentionsIn({ root, profile, sqlite, only, shown }: Looked, texts: readonly string[]): Promise<Mentions> {
  const needles = texts.map((one) => Buffer.from(one));
  const found: Mention[] = [];
  const unsearched: string[] = [];
  if (texts.length === 0) return { found, unsearched };
  for (const { path, stat, class: kind, flags, isDatabase } of surveyed(root, profile, { only })) {
    if (!stat.isFile() || CLOSED.includes(kind)) continue;
    const name = shown(showName(path));
    if (isDatabase) {
      const columns = await searchDatabase({ root, sqlite }, path, { size: Number(stat.size), texts });
      if (columns === null) unsearched.push(name);
      else if (columns.length > 0)
        found.push({
          path: name,
          count: columns.reduce((sum, { rows }) => sum + rows, 0),
          columns: columns.map(({ column }) => column),
        });
      continue;
    }
    if (flags.includes('sidecar')) continue;
    const count = countIn(fsPath(root, path), needles);
    if (count === null) unsearched.push(name);
    else if (count > 0) found.push({ path: name, count });
  }
  return { found, unsearched };
}

/** Null where nothing can look: no means, a log beside it that only its owner may bring to an end, too large, or damaged. */
async function searchDatabase(
  { root, sqlite }: Pick<Looked, 'root' | 'sqlite'>,
  path: RelPath,
  { size, texts }: { readonly size: number; readonly texts: readonly string[] },
): Promise<readonly { readonly column: string; readonly rows: number }[] | null> {
  const target = fsPath(root, path);
  if (sqlite === null || typeof target !== 'string' || size > DATABASE_LIMIT) return null;
  const hasLog = sidecarsOf(path).some(
    (one) => !one.endsWith('-shm') && (lstatSync(fsPath(root, one), { throwIfNoEntry: false })?.size ?? 0) > 0,
  );
  return hasLog ? null : sqlite.search(target, { limit: LOCK_LIMIT, texts }).catch(() => null);
}

/** How often texts stand in a file, which is read part by part; none in one that is no text, null where it cannot be read. */
function countIn(path: string | Buffer, needles: readonly Buffer[]): number | null {
  const overlap = Math.max(...needles.map((needle) => needle.length)) - 1;
  const buffer = Buffer.allocUnsafe(PART + overlap);
  try {
    const fd = openPlain(path);
    try {
      let count = 0;
      for (let at = 0, kept = 0; ;) {
        const bytes = fill(fd, buffer.subarray(kept, kept + PART), at);
        if (at === 0 && bytes.subarray(0, BINARY).includes(0)) return 0;
        const window = buffer.subarray(0, kept + bytes.length);
        const isLast = bytes.length < PART;
        // What begins in the part that is kept for the next window is counted there.
        const end = isLast ? window.length : Math.max(0, window.length - overlap);
        for (const needle of needles) count += occurrences(window, needle, end);
        if (isLast) return count;
        at += bytes.length;
        kept = window.length - end;
        window.copyWithin(0, end);
      }
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}

/** How often a text begins before an offset. */
function occurrences(bytes: Buffer, needle: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(needle); at !== -1 && at < end; at = bytes.indexOf(needle, at + needle.length)) count++;
  return count;
}
