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
/** And of the number by which a program marks its databases. */
const APPLICATION_ID = 68;
const HEADER = 100;

/**
 * The databases of a tree that may be written while they are read: those that a process has open, and where processes of
 * others could not be looked at, those beside which SQLite keeps files.
 */
export function liveDatabases({ root, profile, processes }: Looked): readonly RelPath[] {
  const { writers, unseen } = processes.writers([root]);
  const names = writers.map((one) => one.path.slice(root.length + 1) as RelPath);
  const held = new Set(names.map((path) => databaseOf(path)?.path ?? path));
  const candidates = new Set(held);
  if (unseen > 0) addBesides(root, profile, candidates);
  return [...candidates].filter((path) => !isLeftOut(profile.classify(path, 'sqlite').class) && isOpenDatabase(root, path, held)).sort();
}

/**
 * Whether it is a database that is in use. One with a write-ahead log has that beside it then, and shared memory unless a process has it
 * for itself alone; one of which a process only has the file open is as it lies there.
 */
function isOpenDatabase(root: string, path: RelPath, held: ReadonlySet<RelPath>): boolean {
  const header = databaseHeader(root, path);
  if (header === null) return false;
  const [wal, shm] = sidecarsOf(path).map((one) => lstatSync(fsPath(root, one), { throwIfNoEntry: false }) !== undefined);
  return header[WRITE_VERSION] !== 2 || (wal === true && (shm === true || held.has(path)));
}

/** Whether a database can be read through SQLite without SQLite making the memory by which processes share it. */
export function hasSharedMemory(root: string, path: RelPath): boolean {
  if (databaseHeader(root, path)?.[WRITE_VERSION] !== 2) return true;
  return sidecarsOf(path).every((one) => one.endsWith('-journal') || lstatSync(fsPath(root, one), { throwIfNoEntry: false }) !== undefined);
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

/** The application id of a database; null where a path is none. */
export function applicationId(root: string, path: RelPath): number | null {
  return databaseHeader(root, path)?.readUInt32BE(APPLICATION_ID) ?? null;
}

function databaseHeader(root: string, path: RelPath): Buffer | null {
  try {
    const fd = openPlain(fsPath(root, path));
    try {
      const header = fill(fd, Buffer.alloc(HEADER), 0);
      return headerOf(header) === 'sqlite' && header.length === HEADER ? header : null;
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
export function unitStat(root: string, path: RelPath, stat: BigIntStats, atLeast = 0n): BigIntStats {
  let ctimeNs = stat.ctimeNs > atLeast ? stat.ctimeNs : atLeast;
  for (const one of sidecarsOf(path)) {
    if (one.endsWith('-shm')) continue;
    const beside = lstatSync(fsPath(root, one), { bigint: true, throwIfNoEntry: false });
    if (beside !== undefined && beside.mtimeNs > ctimeNs) ctimeNs = beside.mtimeNs;
  }
  return Object.assign(Object.create(Object.getPrototypeOf(stat) as object) as BigIntStats, stat, { ctimeNs });
}
