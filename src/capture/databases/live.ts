import { closeSync, lstatSync, readdirSync, type BigIntStats } from 'node:fs';
import { fill } from '../../core/bytes.ts';
import { ROOT_PATH, childPath, fsPath, nameFromBytes, type RelPath } from '../../core/name.ts';
import type { Profile } from '../../profile/profile.ts';
import type { ProcessTable } from '../../providers/processes.ts';
import { isLeftOut, type Classified } from '../captured.ts';
import { headerOf, openPlain } from '../lane/pieces.ts';
import type { ScanOptions } from '../scan-options.ts';
import { databaseOf, sidecarsOf } from '../../manifest/sidecars.ts';

interface Looked {
  readonly root: string;
  readonly profile: Profile;
  readonly processes: ProcessTable;
}

/** Offset of the format version for writing in the header of a database: 2 where there is a write-ahead log. */
const WRITE_VERSION = 18;

/**
 * The databases of a tree that may be written while they are read: those that a process has open, and where processes of
 * others could not be looked at, those beside which SQLite keeps files.
 */
export function liveDatabases({ root, profile, processes }: Looked): readonly RelPath[] {
  const { writers, unseen } = processes.writers([root]);
  const names = writers.map((one) => one.path.slice(root.length + 1) as RelPath);
  const candidates = new Set(names.map((path) => databaseOf(path)?.path ?? path));
  if (unseen > 0) addBesides(root, profile, candidates);
  return [...candidates].filter((path) => isOpenDatabase(root, path)).sort();
}

/** Whether it is a database that can be read through SQLite: one with a write-ahead log has it, or opening would make it. */
function isOpenDatabase(root: string, path: RelPath): boolean {
  const header = databaseHeader(root, path);
  if (header === null) return false;
  const [wal, shm] = sidecarsOf(path).map((one) => lstatSync(fsPath(root, one), { throwIfNoEntry: false }) !== undefined);
  return header[WRITE_VERSION] !== 2 || (wal === true && shm === true);
}

/**
 * What a file is that SQLite keeps beside a database: a log is part of it, unless the log's content is in the copy of the database;
 * undefined for any other file.
 */
export function besideDatabase(
  path: RelPath,
  { root, profile, databases }: Pick<ScanOptions, 'root' | 'profile' | 'databases'>,
): Classified | 'left out' | undefined {
  const main = databaseOf(path);
  if (main === null || databaseHeader(root, main.path) === null) return undefined;
  if (main.part === '-shm' || databases?.live.has(main.path) === true) return 'left out';
  const { class: kind, flags } = profile.classify(main.path, 'sqlite');
  return { class: kind, flags: [...flags, 'sidecar'], isFinal: true };
}

/** Whether a path is a regular file that begins as a database does. */
export function isDatabase(root: string, path: RelPath): boolean {
  return databaseHeader(root, path) !== null;
}

function databaseHeader(root: string, path: RelPath): Buffer | null {
  try {
    const fd = openPlain(fsPath(root, path));
    try {
      const header = fill(fd, Buffer.alloc(WRITE_VERSION + 1), 0);
      return headerOf(header) === 'sqlite' ? header : null;
    } finally {
      closeSync(fd);
    }
  } catch {
    return null;
  }
}

/** Adds what has a file of SQLite beside it. */
function addBesides(root: string, profile: Profile, found: Set<RelPath>): void {
  const visit = (path: RelPath): void => {
    let entries;
    try {
      entries = readdirSync(fsPath(root, path), { encoding: 'buffer', withFileTypes: true });
    } catch {
      return;
    }
    for (const entry of entries) {
      const child = childPath(path, nameFromBytes(entry.name));
      if (child === '.perdure') continue;
      if (entry.isDirectory()) {
        if (!isLeftOut(profile.classify(child).class)) visit(child);
        continue;
      }
      const main = databaseOf(child);
      if (main !== null) found.add(main.path);
    }
  };
  visit(ROOT_PATH);
}

/**
 * What a database looks like with the files beside it: writing to its log changes it, though not the file itself. The time
 * of its last change is that of the newest of them. Of a log the time of its last write counts: whoever opens it as the superuser gives it its owner
 * again.
 */
export function unitStat(root: string, path: RelPath, stat: BigIntStats): BigIntStats {
  let { ctimeNs } = stat;
  for (const one of sidecarsOf(path)) {
    if (one.endsWith('-shm')) continue;
    const beside = lstatSync(fsPath(root, one), { bigint: true, throwIfNoEntry: false });
    if (beside !== undefined && beside.mtimeNs > ctimeNs) ctimeNs = beside.mtimeNs;
  }
  return Object.assign(Object.create(Object.getPrototypeOf(stat) as object) as BigIntStats, stat, { ctimeNs });
}
