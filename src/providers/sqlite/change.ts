import { dirname } from 'node:path';
import type { OpenShell } from './shell.ts';
import { holds, isPlain, literal, quoted, text } from './words.ts';

/** What is done to the text of a column, which is `table.column`: values that hold one of some texts are put through `rewrite`. */
export interface ColumnChange {
  readonly column: string;
  readonly holding: readonly string[];
  readonly rewrite: (text: string) => string;
}

/** What is changed in a database. */
export interface DatabaseChanges {
  readonly columns: readonly ColumnChange[];
  readonly cleared: readonly string[];
  /** Tables whose rows go into another database beside this one. */
  readonly held: readonly string[];
  /** That file; one of an earlier move takes more. */
  readonly holder: string;
}

/** The application id of a database that holds rows of another one: 'pdrh'. */
export const HOLDER = 0x70647268;
/** Milliseconds to wait for a lock on a database that nobody else has. */
const WAIT = 5000;
/** As `Sqlite.change` says. */
export async function change(
  open: OpenShell,
  path: string,
  { columns, cleared, held, holder }: DatabaseChanges,
): Promise<readonly string[]> {
  const shell = open({ path, mode: 'write', cwd: dirname(path), limit: WAIT });
  try {
    const isUtf8 = (await shell.ask('PRAGMA encoding;'))[0] === 'UTF-8';
    if (!isUtf8 && columns.length > 0) throw new Error('its text is not UTF-8');
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
    if (tables.length > 0) await shell.attach(holder, 'holder');
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

/** As `Sqlite.giveBack` says. */
export async function giveBack(open: OpenShell, path: string, { holder }: { readonly holder: string }): Promise<void> {
  const shell = open({ path, mode: 'write', cwd: dirname(path), limit: WAIT });
  try {
    await shell.attach(holder, 'holder');
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
