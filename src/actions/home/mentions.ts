import { closeSync, lstatSync } from 'node:fs';
import { surveyed } from '../../capture/survey.ts';
import { openPlain } from '../../capture/lane/pieces.ts';
import { fill } from '../../core/bytes.ts';
import { fsPath, showName, type RelPath } from '../../core/name.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import type { FileClass, Profile } from '../../profile/profile.ts';
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

interface Looked {
  readonly root: string;
  readonly profile: Profile;
  readonly sqlite: Sqlite | null;
}

/** Classes that are not looked into: they do not travel, or nothing is to be said of them. */
const CLOSED: readonly FileClass[] = ['secret', 'host', 'volatile'];
/** No more of a file of text is looked through, and no database that is larger. */
const TEXT_LIMIT = 16 * 1024 * 1024;
const DATABASE_LIMIT = 4 * 1024 ** 3;
const BINARY = 4096;
const LOCK_LIMIT = 5_000;

/** Looks for texts in the text files and databases of a tree that nobody writes; `isWanted` chooses by class. */
export async function mentionsOf(
  { root, profile, sqlite }: Looked,
  texts: readonly string[],
  isWanted: (kind: FileClass) => boolean = () => true,
): Promise<Mentions> {
  const needles = texts.map((one) => Buffer.from(one));
  const found: Mention[] = [];
  const unsearched: string[] = [];
  if (texts.length === 0) return { found, unsearched };
  for (const { path, stat, class: kind, flags, isDatabase } of surveyed(root, profile)) {
    if (!stat.isFile() || CLOSED.includes(kind) || !isWanted(kind)) continue;
    if (isDatabase) {
      const columns = await searchDatabase({ root, sqlite }, path, { size: Number(stat.size), texts });
      if (columns === null) unsearched.push(showName(path));
      else if (columns.length > 0)
        found.push({
          path: showName(path),
          count: columns.reduce((sum, { rows }) => sum + rows, 0),
          columns: columns.map(({ column }) => column),
        });
      continue;
    }
    if (flags.includes('sidecar')) continue;
    const bytes = read(fsPath(root, path), Math.min(TEXT_LIMIT, Number(stat.size)));
    if (bytes === null || bytes.subarray(0, BINARY).includes(0)) continue;
    const count = needles.reduce((sum, needle) => sum + occurrences(bytes, needle), 0);
    if (count > 0) found.push({ path: showName(path), count });
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
