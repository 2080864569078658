import { basename, dirname } from 'node:path';
import { change, giveBack, type DatabaseChanges } from './change.ts';
import { factsOf, search, type DatabaseFacts, type FactsOptions, type FoundIn, type SearchOptions } from './look.ts';
import { moduleShell, programShell, type OpenShell } from './shell.ts';

/** A database, and where its copy is to go. */
interface CopyOrder {
  readonly path: string;
  /** A file that does not exist. */
  readonly to: string;
}

/** Why a database could not be copied: it stayed locked for the whole limit, or what SQLite said. */
export type CopyFailure = { readonly locked: true } | { readonly locked: false; readonly message: string };

/** Reads databases by SQLite's own means, without writing to any. */
export interface Sqlite {
  /**
   * Copies databases by SQLite's online backup, all as of one moment: a read transaction is open in each before the first is
   * copied. The databases are opened for reading only; nothing of theirs is checkpointed or removed. Waits up to `limit`
   * milliseconds for a lock. Answers in the order of the orders, null where the copy is whole; the copies are not durable.
   */
  copy(orders: readonly CopyOrder[], limit: number): Promise<readonly (CopyFailure | null)[]>;
  /**
   * Reads the facts of a database that nobody writes, null where it cannot be read. Takes no lock, makes no file and looks at none beside
   * it, unless `settle`: then the log that lies beside it is brought to its end, which only a copy may have done to it.
   */
  facts(path: string, options: FactsOptions): Promise<DatabaseFacts | null>;
  /**
   * Changes a database that nobody else has: text of columns is put through `rewrite`, tables are emptied, in one transaction; a
   * table or column that is not there is passed over. Afterwards it is one file without a log. Gives the tables that had rows and
   * are emptied or held. Throws what SQLite said.
   */
  change(path: string, changes: DatabaseChanges): Promise<readonly string[]>;
  /**
   * Looks for bytes in all columns of a database that nobody writes: where they are, as `table.column`, and in how many rows. Opens it as
   * `facts` does; throws what SQLite said.
   */
  search(path: string, options: SearchOptions): Promise<readonly FoundIn[]>;
  /** Puts the rows of a holder beside a database back into its tables, all or none; throws what SQLite said. */
  giveBack(path: string, holder: string): Promise<void>;
}

/** So many databases are open at a time: each is a process. */
const AT_ONCE = 32;
/** The means to read databases: the `sqlite3` program where PATH has it, else Node's own module where it has one; else null. */
export async function findSqlite(): Promise<Sqlite | null> {
  const open = (await programShell()) ?? (await moduleShell());
  return open === null ? null : sqliteBy(open);
}

/** Reads databases through shells. */
export function sqliteBy(open: OpenShell): Sqlite {
  return {
    async copy(orders, limit) {
      const done: (CopyFailure | null)[] = [];
      for (let at = 0; at < orders.length; at += AT_ONCE) done.push(...(await copyAtOnce(open, orders.slice(at, at + AT_ONCE), { limit })));
      return done;
    },
    facts: (path, options) => factsOf(open, path, options),
    change: (path, changes) => change(open, path, changes),
    search: (path, options) => search(open, path, options),
    giveBack: (path, holder) => giveBack(open, path, { holder }),
  };
}

async function copyAtOnce(
  open: OpenShell,
  orders: readonly CopyOrder[],
  { limit }: { readonly limit: number },
): Promise<readonly (CopyFailure | null)[]> {
  const shells = orders.map(({ path, to }) => open({ path, mode: 'read', cwd: dirname(to), limit }));
  const begun = await Promise.all(shells.map((shell) => outcome(shell.ask('BEGIN;\nSELECT count(*) FROM sqlite_schema;'))));
  return Promise.all(
    shells.map(async (shell, at) => {
      const copied = begun[at] ?? (await outcome(shell.backup(basename(orders[at]?.to ?? ''))));
      // A lock may keep others from writing: none is kept longer than its own copy takes.
      await shell.end();
      return copied;
    }),
  );
}

async function outcome(asked: Promise<unknown>): Promise<CopyFailure | null> {
  return asked.then(
    () => null,
    (error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      return /database is locked|database table is locked/.test(message) ? { locked: true } : { locked: false, message };
    },
  );
}
