import { dirname } from 'node:path';
import type { OpenShell } from './shell.ts';
import { holds, isPlain, quoted } from './words.ts';

/** What is known of a database beside its bytes. */
export interface DatabaseFacts {
  /** `PRAGMA user_version`: the schema's version, as the program that owns it counts. */
  readonly userVersion: number;
  /** Ordinary tables by name, with their rows, where they were counted. */
  readonly tables: readonly { readonly name: string; readonly rows?: number }[];
  /** `ok`, the first thing that `PRAGMA quick_check` says, or `skipped`. */
  readonly check: string;
}

/** How a database is looked into; `brief` neither checks it nor counts its rows, each of which reads all of it. */
export interface FactsOptions {
  readonly limit: number;
  readonly settle?: boolean;
  readonly brief?: boolean;
}

/** What is looked for in a database. */
export interface SearchOptions {
  readonly limit: number;
  readonly texts: readonly string[];
}

/** A column in which something was found, and the number of rows. */
export interface FoundIn {
  readonly column: string;
  readonly rows: number;
}

/** What stands for the check of a database that was not checked. */
export const SKIPPED = 'skipped';
/** More tables than this are not counted. */
const MOST_TABLES = 1000;
/** A function takes at most 127 arguments. */
const COLUMNS_AT_ONCE = 100;

/** As `Sqlite.facts` says. */
export async function factsOf(
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

/** As `Sqlite.search` says. */
export async function search(open: OpenShell, path: string, { limit, texts }: SearchOptions): Promise<readonly FoundIn[]> {
  const shell = open({ path, mode: 'look', cwd: dirname(path), limit });
  try {
    if ((await shell.ask('PRAGMA encoding;'))[0] !== 'UTF-8') throw new Error('its text is not UTF-8');
    const columns = (
      await shell.ask(
        `SELECT json_array(m.name, c.name) FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' AND ${isPlain('m.name')} AND ${isPlain('c.name')} ORDER BY 1;`,
      )
    ).map((line) => JSON.parse(line) as [table: string, column: string]);
    const found: FoundIn[] = [];
    for (const table of new Set(columns.map(([name]) => name))) {
      const names = columns.filter(([of]) => of === table).map(([, name]) => name);
      for (let at = 0; at < names.length; at += COLUMNS_AT_ONCE) {
        const some = names.slice(at, at + COLUMNS_AT_ONCE);
        const [counts = '[]'] = await shell.ask(
          `SELECT json_array(${some.map((name) => `total(${holds(quoted(name), texts)})`).join(', ')}) FROM ${quoted(table)};`,
        );
        for (const [nth, rows] of (JSON.parse(counts) as readonly number[]).entries())
          if (rows > 0) found.push({ column: `${table}.${some[nth] ?? ''}`, rows });
      }
    }
    return found;
  } finally {
    await shell.end();
  }
}
