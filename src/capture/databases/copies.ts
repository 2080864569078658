import { copyFileSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync, type BigIntStats } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../core/canonical.ts';
import type { Clock } from '../../core/clock.ts';
import type { Digest } from '../../core/digest.ts';
import { fsPath, type RelPath } from '../../core/name.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import type { DatabaseFacts } from '../../providers/sqlite/look.ts';
import type { CopyFailure, Sqlite } from '../../providers/sqlite/sqlite.ts';
import type { DatabaseCopy, OpenDatabases } from '../captured.ts';
import { hasSharedMemory, unitStat } from './live.ts';

interface Place {
  readonly root: string;
  /** A directory for this walk alone, on a file system of this host. */
  readonly staging: string;
  /** Where it is noted what the databases of a state looked like. */
  readonly note: string;
  /** Gives null where there is no means to read a live database. */
  readonly sqlite: () => Promise<Sqlite | null>;
  readonly clock: Clock;
  /** Milliseconds to wait for a lock. */
  readonly limit: number;
}

/** What changed so shortly before it was looked at may change again within the same tick of the file system's clock. */
const RACY_NS = 50_000_000n;
/** Later than any look: what has it is not taken for what it was. */
const NEVER = 1n << 62n;

/** Copies live databases while a tree is walked: all that changed as of one moment, before the walk. */
export class DatabaseCopies implements OpenDatabases {
  readonly #place: Place;
  readonly #found: readonly RelPath[];
  readonly #taken = new Map<RelPath, Promise<DatabaseCopy | CopyFailure>>();
  readonly live = new Set<RelPath>();
  readonly torn = new Map<RelPath, CopyFailure>();
  readonly seen = new Map<RelPath, BigIntStats>();
  #number = 0;

  constructor(place: Place, found: readonly RelPath[]) {
    this.#place = place;
    this.#found = found;
  }

  /** Copies all that changed since the state `manifest` was recorded: what did not is as it was then. One that cannot be copied is torn. */
  async cut(manifest: Digest | null): Promise<void> {
    if (this.#found.length === 0) return;
    const { root, clock } = this.#place;
    const known = manifest === null ? {} : this.#known(manifest);
    const settledBefore = BigInt(clock.now()) * 1_000_000n - RACY_NS;
    for (const path of this.#found) {
      const stat = lstatSync(fsPath(root, path), { bigint: true, throwIfNoEntry: false });
      if (stat === undefined) continue;
      const unit = unitStat(root, path, stat);
      this.seen.set(path, unit.ctimeNs < settledBefore ? unit : unitStat(root, path, stat, NEVER));
    }
    await this.#copy([...this.seen].filter(([path, stat]) => known[path] !== lookOf(stat)).map(([path]) => path));
    for (const path of this.seen.keys()) {
      const copy = await this.#taken.get(path);
      if (copy === undefined || 'stat' in copy) this.live.add(path);
      else this.torn.set(path, copy);
    }
    for (const path of this.torn.keys()) this.seen.delete(path);
  }

  /** The copy of a database; made now where it had not changed when all were copied. */
  take = (path: RelPath): Promise<DatabaseCopy | CopyFailure> => {
    const made = this.#taken.get(path);
    if (made === undefined) void this.#copy([path]);
    return this.#taken.get(path) ?? Promise.resolve(NO_PROGRAM);
  };

  /** Whether there is a means to look into databases. */
  async canLook(): Promise<boolean> {
    return (await this.#place.sqlite()) !== null;
  }

  /** Reads the facts of a database that was read in this walk: of its copy, or of itself where nobody has it open. */
  async facts(path: RelPath): Promise<DatabaseFacts | null> {
    const { limit, root } = this.#place;
    const sqlite = await this.#place.sqlite();
    if (sqlite === null) return null;
    const copy = await this.#taken.get(path);
    if (copy !== undefined) return 'stat' in copy ? sqlite.facts(copy.path, { limit, brief: copy.stat.size > LARGE }) : null;
    const target = fsPath(root, path);
    if (typeof target !== 'string') return null;
    const logs = sidecarsOf(path).filter((one) => !one.endsWith('-shm') && sizeOf(fsPath(root, one)) > 0);
    const brief = sizeOf(target) > LARGE;
    if (logs.length === 0 || brief) return sqlite.facts(target, { limit, brief });
    // What a crash left is brought to its end in a copy.
    const to = this.#name();
    copyFileSync(target, to);
    for (const log of logs) copyFileSync(fsPath(root, log), `${to}${log.slice(path.length)}`);
    return sqlite.facts(to, { limit, settle: true });
  }

  /** Notes what the live databases looked like that are in the state which was recorded. */
  note(manifest: Digest): void {
    if (this.live.size === 0) return;
    const units = Object.fromEntries([...this.seen].map(([path, stat]) => [path, lookOf(stat)]));
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
    const orders: { readonly path: RelPath; readonly from: string; readonly to: string }[] = [];
    for (const path of paths) {
      const from = fsPath(root, path);
      // A name that is not UTF-8 cannot be given to SQLite; and without the memory that its processes share it would make one.
      if (typeof from === 'string' && hasSharedMemory(root, path)) orders.push({ path, from, to: this.#name() });
      else this.#taken.set(path, Promise.resolve({ locked: true }));
    }
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
}

/** A larger database is not read once more to be checked and counted. */
const LARGE = 128 * 1024 * 1024;

const NO_PROGRAM: CopyFailure = { locked: false, message: 'there is no sqlite3' };

function lookOf({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string | null {
  return ctimeNs === NEVER ? null : [size, mtimeNs, ctimeNs, ino].join(' ');
}

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
