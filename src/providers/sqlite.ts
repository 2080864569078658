import { basename, dirname } from 'node:path';
import { moduleShell, programShell, type OpenShell } from './sqlite-shell.ts';

/** What is known of a database beside its bytes. */
export interface DatabaseFacts {
  /** `PRAGMA user_version`: the schema's version, as the program that owns it counts. */
  readonly userVersion: number;
  /** Ordinary tables by name, with their rows, where they were counted. */
  readonly tables: readonly { readonly name: string; readonly rows?: number }[];
  /** `ok`, the first thing that `PRAGMA quick_check` says, or `skipped`. */
  readonly check: string;
}

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

/** How a database is looked into; `brief` neither checks it nor counts its rows, each of which reads all of it. */
interface FactsOptions {
  readonly limit: number;
  readonly settle?: boolean;
  readonly brief?: boolean;
}

/** What is looked for in a database. */
interface SearchOptions {
  readonly limit: number;
  readonly texts: readonly string[];
}

/** A column in which something was found, and the number of rows. */
interface FoundIn {
  readonly column: string;
  readonly rows: number;
}

/** What is done to the text of a column, which is `table.column`: values that hold one of some texts are put through `rewrite`. */
export interface ColumnChange {
  readonly column: string;
  readonly holding: readonly string[];
  readonly rewrite: (text: string) => string;
}

/** What is changed in a database. */
interface DatabaseChanges {
  readonly columns: readonly ColumnChange[];
  readonly cleared: readonly string[];
  /** Tables whose rows go into another database beside this one. */
  readonly held: readonly string[];
  /** That file; one of an earlier move takes more. */
  readonly holder: string;
}

/** So many databases are open at a time: each is a process. */
const AT_ONCE = 32;
/** What stands for the check of a database that was not checked. */
export const SKIPPED = 'skipped';
/** The application id of a database that holds rows of another one: 'pdrh'. */
export const HOLDER = 0x70647268;
/** Milliseconds to wait for a lock on a database that nobody else has. */
const WAIT = 5000;
/** More tables than this are not counted. */
const MOST_TABLES = 1000;

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

/** Names that can be spoken of line by line. A table of another name is passed over: it could pass for a command of the program. */
function isPlain(column: string): string {
  return `instr(${column}, char(0)) = 0 AND instr(${column}, char(10)) = 0 AND instr(${column}, char(13)) = 0`;
}

async function factsOf(
  open: OpenShell,
  path: string,
  { limit, settle = false, brief = false }: FactsOptions,
): Promise<DatabaseFacts | null> {
  const shell = open({ path, mode: settle ? 'write' : 'look', cwd: dirname(path), limit });
  try {
    const [version, check = brief ? SKIPPED : 'no answer'] = await shell.ask(
      `PRAGMA user_version;${brief ? '' : '\nPRAGMA quick_check(1);'}`,
    );
    const names = await shell.ask(
      `SELECT json_quote(name) FROM sqlite_schema WHERE type = 'table' AND ${isPlain('name')} AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name LIMIT ${String(MOST_TABLES)};`,
    );
    const tables = names.map((name) => JSON.parse(name) as string);
    if (brief)
      return Number.isSafeInteger(Number(version))
        ? { userVersion: Number(version), tables: tables.map((name) => ({ name })), check }
        : null;
    const rows = (await shell.ask(tables.map((name) => `SELECT count(*) FROM ${quoted(name)};`).join('\n'))).map(Number);
    if (rows.length !== tables.length || ![Number(version), ...rows].every(Number.isSafeInteger)) return null;
    return { userVersion: Number(version), tables: tables.map((name, at) => ({ name, rows: rows[at] ?? 0 })), check };
  } catch {
    return null;
  } finally {
    await shell.end();
  }
}

async function change(open: OpenShell, path: string, { columns, cleared, held, holder }: DatabaseChanges): Promise<readonly string[]> {
  const shell = open({ path, mode: 'write', cwd: dirname(path), limit: WAIT });
  try {
    const known = new Set(
      await shell.ask(
        `SELECT DISTINCT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND ${isPlain('m.name')} AND ${isPlain('c.name')} UNION SELECT name FROM sqlite_schema WHERE type = 'table' AND ${isPlain('name')};`,
      ),
    );
    const hasRows = async (table: string): Promise<boolean> =>
      known.has(table) && (await shell.ask(`SELECT EXISTS (SELECT 1 FROM ${quoted(table)});`))[0] === '1';
    const full = new Set<string>();
    for (const table of [...held, ...cleared]) if (await hasRows(table)) full.add(table);
    const tables = held.filter((one) => full.has(one));
    if (tables.length > 0) await shell.ask(`ATTACH ${text(holder)} AS holder;`);
    await shell.ask('BEGIN;');
    for (const { column, holding, rewrite } of columns.filter((one) => known.has(one.column))) {
      const [table = '', name = ''] = column.split('.').map(quoted);
      const values = await shell.ask(
        `SELECT hex(${name}) FROM ${table} WHERE typeof(${name}) = 'text' AND (${holds(name, holding)}) GROUP BY ${name} COLLATE BINARY;`,
      );
      for (const hex of values) {
        const value = Buffer.from(hex, 'hex').toString('utf8');
        const rewritten = rewrite(value);
        if (rewritten !== value)
          await shell.ask(`UPDATE ${table} SET ${name} = ${literal(rewritten)} WHERE ${name} = ${literal(value)} COLLATE BINARY;`);
      }
    }
    if (tables.length > 0) await shell.ask(`PRAGMA holder.application_id = ${String(HOLDER)};`);
    for (const table of tables.map(quoted))
      await shell.ask(
        `CREATE TABLE IF NOT EXISTS holder.${table} AS SELECT * FROM main.${table} WHERE 0;\nINSERT INTO holder.${table} SELECT * FROM main.${table};\nDELETE FROM main.${table};`,
      );
    for (const table of cleared.filter((one) => full.has(one))) await shell.ask(`DELETE FROM ${quoted(table)};`);
    await shell.ask('COMMIT;\nPRAGMA wal_checkpoint(TRUNCATE);');
    return [...full];
  } finally {
    await shell.end();
  }
}

async function search(open: OpenShell, path: string, { limit, texts }: SearchOptions): Promise<readonly FoundIn[]> {
  const shell = open({ path, mode: 'look', cwd: dirname(path), limit });
  try {
    const columns = (
      await shell.ask(
        `SELECT json_array(m.name, c.name) FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND ${isPlain('m.name')} AND ${isPlain('c.name')} ORDER BY 1;`,
      )
    ).map((line) => JSON.parse(line) as [table: string, column: string]);
    const found: FoundIn[] = [];
    for (const table of new Set(columns.map(([name]) => name))) {
      const names = columns.filter(([of]) => of === table).map(([, name]) => name);
      const [counts = '[]'] = await shell.ask(
        `SELECT json_array(${names.map((name) => `total(${holds(quoted(name), texts)})`).join(', ')}) FROM ${quoted(table)};`,
      );
      for (const [at, rows] of (JSON.parse(counts) as readonly number[]).entries())
        if (rows > 0) found.push({ column: `${table}.${names[at] ?? ''}`, rows });
    }
    return found;
  } finally {
    await shell.end();
  }
}

async function giveBack(open: OpenShell, path: string, { holder }: { readonly holder: string }): Promise<void> {
  const shell = open({ path, mode: 'write', cwd: dirname(path), limit: WAIT });
  try {
    await shell.ask(`ATTACH ${text(holder)} AS holder;`);
    const tables = await shell.ask(`SELECT name FROM holder.sqlite_schema WHERE type = 'table' AND ${isPlain('name')};`);
    // Several files are changed as one only where none of them has a write-ahead log.
    const [mode = 'delete'] = await shell.ask('PRAGMA main.journal_mode;');
    await shell.ask('PRAGMA main.journal_mode=DELETE;');
    await shell.ask('BEGIN;');
    for (const table of tables) {
      // Not those that are generated.
      const columns = await shell.ask(
        `SELECT name FROM pragma_table_info(${text(table)}, 'main') WHERE ${isPlain('name')} AND name IN (SELECT name FROM pragma_table_info(${text(table)}, 'holder'));`,
      );
      const list = columns.map(quoted).join(', ');
      if (list === '') throw new Error(`there is no table '${table}' any more`);
      await shell.ask(
        `INSERT INTO main.${quoted(table)} (${list}) SELECT ${list} FROM holder.${quoted(table)};\nDELETE FROM holder.${quoted(table)};`,
      );
    }
    await shell.ask('COMMIT;');
    if (mode === 'wal') await shell.ask('DETACH holder;\nPRAGMA journal_mode=WAL;\nPRAGMA wal_checkpoint(TRUNCATE);');
  } finally {
    await shell.end();
  }
}

/** Whether a column, as text or as bytes, holds one of some texts. */
function holds(column: string, texts: readonly string[]): string {
  const bytes = texts.map((one) => `instr(CAST(${column} AS BLOB), x'${Buffer.from(one).toString('hex')}') > 0`);
  return bytes.length === 0 ? '0' : bytes.join(' OR ');
}

function text(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

function literal(value: string): string {
  return `CAST(x'${Buffer.from(value).toString('hex')}' AS TEXT)`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
