import { copyFileSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../core/canonical.ts';
import type { Digest } from '../../core/digest.ts';
import { fsPath, type RelPath } from '../../core/name.ts';
import type { CopyFailure, DatabaseFacts, Sqlite } from '../../providers/sqlite.ts';
import type { DatabaseCopy } from '../captured.ts';
import { unitStat } from './live.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';

interface Place {
  readonly root: string;
  /** A directory on the file system of the store, for this walk alone. */
  readonly staging: string;
  /** Where it is noted what the databases of a state looked like. */
  readonly note: string;
  /** Null where there is no means to read a live database. */
  readonly sqlite: () => Promise<Sqlite | null>;
  /** Milliseconds to wait for a lock. */
  readonly limit: number;
}

/** Copies live databases while a tree is walked: all that changed as of one moment, before the walk. */
export class DatabaseCopies {
  readonly #place: Place;
  readonly #taken = new Map<RelPath, Promise<DatabaseCopy | CopyFailure>>();
  readonly live: ReadonlySet<RelPath>;
  #number = 0;

  constructor(place: Place, live: readonly RelPath[]) {
    this.#place = place;
    this.live = new Set(live);
  }

  /** Copies all that changed since the state `manifest` was recorded: what did not is as it was then. */
  async cut(manifest: Digest | null): Promise<void> {
    if (this.live.size === 0) return;
    const known = manifest === null ? {} : this.#known(manifest);
    await this.#copy([...this.live].filter((path) => known[path] !== this.#look(path)));
  }

  /** The copy of a database; made now where it had not changed when all were copied. */
  take(path: RelPath): Promise<DatabaseCopy | CopyFailure> {
    const made = this.#taken.get(path);
    if (made === undefined) void this.#copy([path]);
    return this.#taken.get(path) ?? Promise.resolve(NO_PROGRAM);
  }

  /** Reads the facts of a database that was read in this walk: of its copy, or of itself where nobody has it open. */
  async facts(path: RelPath): Promise<DatabaseFacts | null> {
    const { limit, root } = this.#place;
    const sqlite = await this.#place.sqlite();
    if (sqlite === null) return null;
    const copy = await this.#taken.get(path);
    if (copy !== undefined) return 'stat' in copy ? sqlite.facts(copy.path, limit) : null;
    const target = fsPath(root, path);
    if (typeof target !== 'string') return null;
    const logs = sidecarsOf(path).filter((one) => !one.endsWith('-shm') && sizeOf(fsPath(root, one)) > 0);
    if (logs.length === 0) return sqlite.facts(target, limit);
    // What a crash left is brought to its end in a copy.
    const to = this.#name();
    copyFileSync(target, to);
    for (const log of logs) copyFileSync(fsPath(root, log), `${to}${log.slice(path.length)}`);
    return sqlite.facts(to, limit);
  }

  /** Notes what the live databases look like in the state that was recorded. */
  note(manifest: Digest): void {
    if (this.live.size === 0) return;
    const units = Object.fromEntries([...this.live].map((path) => [path, this.#look(path)]));
    // A cache: a note that cannot be written costs a copy.
    safely(() => {
      writeFileSync(this.#place.note, JSON.stringify({ manifest, units }), { mode: 0o600 });
    });
  }

  /** Removes the copies. */
  close(): void {
    rmSync(this.#place.staging, { recursive: true, force: true });
  }

  /** Begins copies of all at once; each is there when all are. */
  #copy(paths: readonly RelPath[]): Promise<unknown> {
    const { root, limit } = this.#place;
    const orders = paths.flatMap((path) => {
      const from = fsPath(root, path);
      // A name that is not UTF-8 cannot be given to the program.
      return typeof from === 'string' ? [{ path, from, to: this.#name() }] : [];
    });
    const copied = this.#place.sqlite().then((sqlite) =>
      sqlite === null
        ? null
        : sqlite.copy(
            orders.map(({ from, to }) => ({ path: from, to })),
            limit,
          ),
    );
    for (const [at, { path, to }] of orders.entries())
      this.#taken.set(
        path,
        copied.then((failures) => (failures === null ? NO_PROGRAM : (failures[at] ?? { path: to, stat: lstatSync(to, { bigint: true }) }))),
      );
    return copied;
  }

  #name(): string {
    mkdirSync(this.#place.staging, { recursive: true, mode: 0o700 });
    return join(this.#place.staging, `${String(this.#number++)}.db`);
  }

  #known(manifest: Digest): Readonly<Record<string, unknown>> {
    const value = parseJson(safely(() => readFileSync(this.#place.note, 'utf8')) ?? '');
    if (typeof value !== 'object' || value === null || !('manifest' in value) || value.manifest !== manifest) return {};
    return 'units' in value && typeof value.units === 'object' ? { ...value.units } : {};
  }

  #look(path: RelPath): string | null {
    const { root } = this.#place;
    const stat = lstatSync(fsPath(root, path), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return null;
    const { size, mtimeNs, ctimeNs, ino } = unitStat(root, path, stat);
    return [size, mtimeNs, ctimeNs, ino].join(' ');
  }
}

const NO_PROGRAM: CopyFailure = { locked: false, message: 'there is no sqlite3' };

function sizeOf(path: string | Buffer): number {
  return lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function safely<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}
