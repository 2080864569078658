import { isAgentError, systemCode } from '../core/errors.ts';
import { childPath, showName, type RelPath } from '../core/name.ts';
import { newCounter } from '../manifest/coverage.ts';
import type { Finding } from '../manifest/facts.ts';
import type { FileClass, Profile } from '../profile/profile.ts';
import { nameOf } from './attributes.ts';
import type { Included, LeftOut } from './captured.ts';
import type { DirectoryCount } from './index/scan-index.ts';

/** Names that are given to databases. */
const DATABASE_NAME = /\.(db|sqlite3?|db3)$/;

/** What to do about a finding. */
const NEXT: Readonly<Record<string, string>> = {
  SQLITE_RAW: 'install the program sqlite3, or stop the agent; then agent checkpoint',
  DATABASE_LOCKED: 'stop the process that keeps it locked (fuser -v FILE); then agent checkpoint',
};

/** What was met in a directory, or in a whole tree. */
export class Tally {
  readonly counter = newCounter();
  readonly counts = new Map<FileClass, number>();
  readonly findings: Finding[] = [];
  readonly databases: RelPath[] = [];
  readonly #profile: Profile;

  constructor(profile: Profile) {
    this.#profile = profile;
  }

  /** Counts included paths. */
  include(name: FileClass, number = 1): void {
    this.counter.included += number;
    this.counts.set(name, (this.counts.get(name) ?? 0) + number);
  }

  /** Notes a path that could not be read; what went wrong elsewhere, as a disk that is full where packs go, passes through. */
  failed(path: RelPath, error: unknown): void {
    const code = systemCode(error);
    if (code === undefined || isAgentError(error) || ['ENOSPC', 'EDQUOT', 'EROFS'].includes(code)) throw error;
    if (code === 'ENOENT') this.counter.vanished++;
    else {
      this.counter.unreadable++;
      this.report('FILE_UNREADABLE', path);
    }
  }

  report(code: string, path: RelPath): void {
    const next = NEXT[code];
    this.findings.push({
      code,
      subject: showName(path),
      class: this.#profile.classify(path).class,
      ...(next === undefined ? {} : { next }),
    });
  }

  /** Notes a file that is left out. */
  leaveOut(path: RelPath, { leftOut, isAppleDouble }: LeftOut): void {
    this.counter[leftOut]++;
    if (isAppleDouble === true && DATABASE_NAME.test(path)) this.report('APPLEDOUBLE_SKIPPED', path);
  }

  /** Notes a file that was included: as last read, where it was in motion each time. */
  file(path: RelPath, { entry, isMoving, isZeroed, uncopied }: Included): void {
    this.include(entry.class);
    // A database in motion has findings of its own.
    if (isMoving === true && uncopied === undefined) {
      this.counter.included--;
      this.counter.changed++;
      this.report('FILE_CHANGING', path);
    }
    this.counter.bytes += BigInt(entry.size);
    if (entry.flags?.includes('sqlite') === true) this.databases.push(path);
    if (uncopied !== undefined) this.report(uncopied.locked ? 'DATABASE_LOCKED' : 'SQLITE_RAW', path);
    if (DATABASE_NAME.test(path) && (entry.size === '0' || isZeroed === true))
      this.report(entry.size === '0' ? 'DATABASE_EMPTY' : 'DATABASE_ZEROED', path);
  }

  /** Adds what was met elsewhere. */
  add(other: Tally): void {
    for (const [name, number] of other.counts) this.counts.set(name, (this.counts.get(name) ?? 0) + number);
    for (const name of Object.keys(other.counter) as (keyof typeof other.counter)[])
      if (name !== 'bytes') this.counter[name] += other.counter[name];
    this.counter.bytes += other.counter.bytes;
    this.findings.push(...other.findings);
    this.databases.push(...other.databases);
  }

  /** What the index notes of a directory; null where something in it is to be told, or looked at, each time. */
  known(): DirectoryCount | null {
    if (this.findings.length > 0 || this.counter.vanished > 0 || this.counts.has('secret')) return null;
    const { bytes, volatile, host } = this.counter;
    return { counts: [...this.counts], bytes: String(bytes), volatile, host, databases: this.databases.map(nameOf) };
  }

  /** Adds what the index notes of a directory. */
  addKnown(path: RelPath, { counts, bytes, volatile, host, databases }: DirectoryCount): void {
    for (const [name, number] of counts) this.include(name, number);
    this.counter.bytes += BigInt(bytes);
    this.counter.volatile += volatile;
    this.counter.host += host;
    this.databases.push(...databases.map((name) => childPath(path, name)));
  }
}
