import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ColumnChange } from '../../src/providers/sqlite/change.ts';
import { sqliteBy, type Sqlite } from '../../src/providers/sqlite/sqlite.ts';
import { moduleShell, programShell } from '../../src/providers/sqlite/shell.ts';
import { run } from '../support/run.ts';
import { has } from '../support/tools.ts';
import { temporary } from '../support/tree.ts';

const shells = { 'the program': await programShell(), "Node's module": await moduleShell() };
const NAME = `it's "odd", ;`;

function toNew(column: string, to: string): ColumnChange {
  return { column, holding: ['/old'], rewrite: (text) => text.replace('/old', to) };
}

function make(path: string): void {
  execFileSync('sqlite3', ['-batch', path], {
    input: `PRAGMA journal_mode=WAL; PRAGMA user_version=3; CREATE TABLE "${NAME.replaceAll('"', '""')}"(at TEXT); INSERT INTO "${NAME.replaceAll('"', '""')}" VALUES('/old/x'),('said /old/x'),('none'); CREATE TABLE waits(id TEXT PRIMARY KEY, n) WITHOUT ROWID; INSERT INTO waits VALUES('a',1),('b',2); CREATE TABLE leases(id);INSERT INTO leases VALUES(1);`,
  });
}

describe.runIf(has('sqlite3'))('databases are read and changed', () => {
  const known = Object.entries(shells).flatMap(([name, open]) => (open === null ? [] : [[name, sqliteBy(open)] as const]));

  test.each(known)('by %s: a copy is whole, and facts are those of the original', async (_, sqlite: Sqlite) => {
    const directory = join(temporary(), 'a b');
    mkdirSync(directory);
    const path = join(directory, NAME);
    make(path);
    expect(await sqlite.facts(path, { limit: 1000 })).toEqual({
      userVersion: 3,
      check: 'ok',
      tables: [
        { name: NAME, rows: 3 },
        { name: 'leases', rows: 1 },
        { name: 'waits', rows: 2 },
      ],
    });
    // Looking made nothing.
    expect(readdirSync(directory)).toEqual([NAME]);
    expect(
      await sqlite.copy(
        [
          { path, to: join(directory, '0.db') },
          { path: join(directory, 'none'), to: join(directory, '1.db') },
        ],
        1000,
      ),
    ).toEqual([null, { locked: false, message: expect.stringMatching(/unable to open/) as string }]);
    expect(await sqlite.facts(join(directory, '0.db'), { limit: 1000 })).toEqual(await sqlite.facts(path, { limit: 1000 }));
  });

  test.each(known)('by %s: columns are rewritten, tables cleared and held, and what is held comes back', async (_, sqlite: Sqlite) => {
    const directory = temporary();
    const path = join(directory, 'x.db');
    const holder = `${path}.held`;
    make(path);
    await sqlite.change(path, {
      columns: [`${NAME}.at`, 'none.at', 'waits.none'].map((column) => toNew(column, "/new's")),
      cleared: ['leases', 'none'],
      held: ['waits'],
      holder,
    });
    expect(existsSync(`${path}-wal`)).toBe(false);
    const query = (text: string): string => execFileSync('sqlite3', ['-batch', path, text]).toString();
    expect(query(`SELECT at FROM "${NAME.replaceAll('"', '""')}" ORDER BY at`)).toBe("/new's/x\nnone\nsaid /new's/x\n");
    expect(query('SELECT (SELECT count(*) FROM waits), (SELECT count(*) FROM leases)')).toBe('0|0\n');
    await sqlite.giveBack(path, holder);
    expect(query('SELECT id, n FROM waits')).toBe('a|1\nb|2\n');
    // Done again after a crash it finds nothing more to give.
    await sqlite.giveBack(path, holder);
    expect(query('SELECT count(*) FROM waits')).toBe('2\n');
  });

  test.each(known)(
    'by %s: a search says in which columns something stands, text or bytes, and in how many rows',
    async (_, sqlite: Sqlite) => {
      const directory = temporary();
      const path = join(directory, 'x.db');
      make(path);
      execFileSync('sqlite3', ['-batch', path, `INSERT INTO leases VALUES(CAST('at /old' AS BLOB)), (7), (NULL)`]);
      expect(await sqlite.search(path, { limit: 1000, texts: ['/old', "it's"] })).toEqual([
        { column: `${NAME}.at`, rows: 2 },
        { column: 'leases.id', rows: 1 },
      ]);
      expect(await sqlite.search(path, { limit: 1000, texts: ['/other'] })).toEqual([]);
      const wide = join(directory, 'wide.db');
      const columns = Array.from({ length: 260 }, (_none, at) => `c${String(at)}`);
      execFileSync('sqlite3', ['-batch', wide], {
        input: `CREATE TABLE w(${columns.join()}); INSERT INTO w(c3, c259) VALUES('/old', '/old');`,
      });
      expect((await sqlite.search(wide, { limit: 1000, texts: ['/old'] })).map(({ column }) => column)).toEqual(['w.c259', 'w.c3']);
      // What is not UTF-8 is neither searched nor changed, and that is told.
      const other = join(directory, 'utf16.db');
      execFileSync('sqlite3', ['-batch', other], { input: "PRAGMA encoding='UTF-16'; CREATE TABLE t(at); INSERT INTO t VALUES('/old');" });
      await expect(sqlite.search(other, { limit: 1000, texts: ['/old'] })).rejects.toThrow(/UTF-8/);
      const change = { columns: [toNew('t.at', '/new')], cleared: [], held: [], holder: `${other}.held` };
      await expect(sqlite.change(other, change)).rejects.toThrow(/UTF-8/);
      await expect(sqlite.search(join(directory, 'none.db'), { limit: 1000, texts: ['/old'] })).rejects.toThrow(/unable to open/);
    },
  );

  test.each(known)('by %s: a schema that computes with functions of SQLite itself is no worse than another', async (_, sqlite: Sqlite) => {
    const directory = temporary();
    const [path, to] = [join(directory, 'x.db'), join(directory, 'y.db')];
    execFileSync('sqlite3', ['-batch', path], {
      input: `CREATE TABLE events(edited_at, j TEXT CHECK(json_valid(j) AND json_extract(j, '$.v') = 1), k GENERATED ALWAYS AS (json_extract(j, '$.at')));
CREATE INDEX events_k ON events(json_extract(j, '$.at')); CREATE TABLE waits(j TEXT CHECK(json_valid(j)));
INSERT INTO events(j) VALUES('{"v":1,"at":"/old/x"}'); INSERT INTO waits VALUES('{}');`,
    });
    expect(await sqlite.facts(path, { limit: 1000 })).toMatchObject({ check: 'ok', tables: [{ rows: 1 }, { rows: 1 }] });
    expect(await sqlite.copy([{ path, to }], 1000)).toEqual([null]);
    expect(await sqlite.facts(to, { limit: 1000, settle: true })).toMatchObject({ check: 'ok' });
    expect(await sqlite.search(path, { limit: 1000, texts: ['/old'] })).toMatchObject([{ column: 'events.j', rows: 1 }]);
    const changes = { columns: [toNew('events.j', '/new')], cleared: [], held: ['waits'], holder: `${path}.held` };
    expect(await sqlite.change(path, changes)).toEqual(['waits']);
    await sqlite.giveBack(path, `${path}.held`);
    const query = 'SELECT k FROM events; SELECT j FROM waits; PRAGMA integrity_check;';
    expect(execFileSync('sqlite3', ['-batch', path, query]).toString()).toBe('/new/x\n{}\nok\n');
  });

  test.each(known)('by %s: what a schema says is neither a command nor a function that runs one', async (_, sqlite: Sqlite) => {
    const directory = temporary();
    const path = join(directory, 'hostile.db');
    const touched = join(directory, 'touched');
    // A NUL and a line break in names, a function of the program in a check, a trigger and a generated column.
    execFileSync('sqlite3', ['-batch', path], {
      input: `CREATE TABLE fine(at TEXT CHECK(edit(at, 'touch ${touched}; true') NOT NULL)); CREATE TABLE plain(at TEXT); INSERT INTO plain VALUES('/old');
CREATE TABLE waits(id, twice GENERATED ALWAYS AS (id || id)); INSERT INTO waits(id) VALUES('a');
CREATE TRIGGER t BEFORE DELETE ON plain BEGIN SELECT edit('x', 'touch ${touched}; true'); END;
CREATE TABLE "--answered 2--"(x);
CREATE TABLE one(x); CREATE TABLE two(x);
PRAGMA writable_schema=ON; UPDATE sqlite_schema SET name = 'x' || char(0), tbl_name = 'x' || char(0) WHERE name = 'one';
UPDATE sqlite_schema SET name = 'a;' || char(10) || '.shell touch ${touched}' || char(10), tbl_name = name WHERE name = 'two';`,
    });
    const facts = await sqlite.facts(path, { limit: 1000 });
    expect(facts?.tables.map(({ name }) => name) ?? []).not.toContain('x');
    await sqlite.facts(path, { limit: 1000, settle: true });
    const changes = {
      columns: ['plain.at', 'fine.at'].map((column) => toNew(column, '/new')),
      cleared: ['plain'],
      held: ['waits'],
    };
    await sqlite.change(path, { ...changes, holder: `${path}.held` }).catch(() => undefined);
    await sqlite.giveBack(path, `${path}.held`).catch(() => undefined);
    // What holds rows came with the rest: a trigger in it is another's, too.
    // What SQLite takes for white space is none for everybody.
    const spaced = join(directory, 'spaced.db');
    const odd = `CREATE TABLE plain(at TEXT); INSERT INTO plain VALUES('/old'); CREATE TRIGGER t AFTER UPDATE ON plain BEGIN SELECT \ufeffedit('x', 'touch ${touched}; true'); END;`;
    execFileSync('sqlite3', ['-batch', spaced], { input: odd });
    await sqlite
      .change(spaced, { columns: [toNew('plain.at', '/new')], cleared: [], held: [], holder: `${spaced}.held` })
      .catch(() => undefined);
    const [clean, held] = [join(directory, 'clean.db'), join(directory, 'clean.db.held')];
    execFileSync('sqlite3', ['-batch', clean, "CREATE TABLE waits(id); INSERT INTO waits VALUES('a');"]);
    const trigger = (when: string): string =>
      `CREATE TRIGGER t${when} BEFORE ${when} ON waits BEGIN SELECT "EDIT" ('x', 'touch ${touched}; true'); END;`;
    execFileSync('sqlite3', ['-batch', held], {
      input: `CREATE TABLE waits(id); INSERT INTO waits VALUES('b'); ${trigger('INSERT')} ${trigger('DELETE')}`,
    });
    await sqlite.change(clean, { columns: [], cleared: [], held: ['waits'], holder: held }).catch(() => undefined);
    await sqlite.giveBack(clean, held).catch(() => undefined);
    await sqlite.search(path, { limit: 1000, texts: ['/old'] }).catch(() => undefined);
    expect(existsSync(touched)).toBe(false);
  });
});

test.runIf((await moduleShell()) !== null)('a command that uses the module of Node says nothing of it', () => {
  const root = join(temporary(), 'ada');
  mkdirSync(root);
  const path = join(root, 'state.db');
  execFileSync(process.execPath, [
    '-e',
    `new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)}).exec("CREATE TABLE t(x); INSERT INTO t VALUES('planted here')")`,
  ]);
  const options = { host: join(root, '..', 'host'), cwd: root, env: { PATH: '/nowhere' } };
  expect(run(['init', '--no-recovery'], options).status).toBe(0);
  expect(run(['checkpoint'], options).status).toBe(0);
  const done = run(['status', '--after-move', '--find', 'planted here'], options);
  expect(done.stdout.toString()).toContain('state.db (t.x)');
  expect(done.stderr.toString()).toBe('');
});
