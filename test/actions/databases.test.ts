import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, linkSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { restore } from '../../src/actions/restore.ts';
import { restoreTo } from '../../src/actions/restore-to.ts';
import { status } from '../../src/actions/status.ts';
import { adopted, arrived } from '../support/agent.ts';
import { at } from '../support/host.ts';
import { has } from '../support/tools.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

const DATABASE = 'private/state/brain';

function sql(path: string, text: string): string {
  return execFileSync('sqlite3', ['-init', '/dev/null', '-batch', path], { input: text }).toString().trim();
}

/** A process that has databases open and writes a row to each, again and again, until it is ended. */
function writers(paths: readonly string[]): { readonly ended: () => Promise<void> } {
  const children = paths.map((path) => {
    const child = spawn('sqlite3', ['-init', '/dev/null', '-batch', path], { stdio: ['pipe', 'ignore', 'ignore'] });
    child.stdin.write(
      '.timeout 5000\nCREATE TABLE IF NOT EXISTS beats(n INTEGER PRIMARY KEY, at TEXT);\nINSERT INTO beats(at) VALUES (1);\n',
    );
    return child;
  });
  const beat = setInterval(() => {
    for (const { stdin } of children) stdin.write("INSERT INTO beats(at) VALUES (datetime('now'));\n");
  }, 5);
  const ended = async (): Promise<void> => {
    clearInterval(beat);
    await Promise.all(
      children.map(async (child) => {
        if (child.exitCode !== null) return;
        child.stdin.end();
        await once(child, 'exit');
      }),
    );
  };
  onTestFinished(ended);
  return { ended };
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !condition(); tries++) await new Promise((done) => setTimeout(done, 10));
  expect(condition()).toBe(true);
}

/** Whether the writer has written to a database. */
function beating(path: string): boolean {
  return (
    sql(path, ".timeout 5000\nSELECT count(*) FROM sqlite_schema WHERE name = 'beats';") === '1' &&
    sql(path, '.timeout 5000\nSELECT count(*) FROM beats') !== '0'
  );
}

function makeDatabase(root: string, mode: 'wal' | 'delete', name = DATABASE): string {
  const path = join(root, name);
  sql(path, `PRAGMA journal_mode=${mode}; PRAGMA user_version=7; CREATE TABLE notes(text); INSERT INTO notes VALUES('one'),('two');`);
  return path;
}

describe.runIf(has('sqlite3'))('a database', () => {
  test.each(['wal', 'delete'] as const)(
    'that is written meanwhile is copied whole, and its own files stay what they were (%s)',
    async (mode) => {
      const { a, home } = await adopted(temporary(), (root) => {
        nativeAgent(root);
        makeDatabase(root, mode);
      });
      const path = join(home, DATABASE);
      const before = lstatSync(path).ino;
      const writing = writers([path]);
      await until(() => (mode === 'delete' ? beating(path) : existsSync(`${path}-wal`)));
      const log = mode === 'wal' ? lstatSync(`${path}-wal`).ino : null;
      const live = await checkpoint(a);
      expect(live.complete).toBe(true);
      expect(live.facts).toMatchObject({ consistency: 'live', findings: [] });
      expect(live.facts.databases).toMatchObject([
        { path: DATABASE, userVersion: 7, check: 'ok', tables: [{ name: 'beats' }, { name: 'notes', rows: 2 }] },
      ]);
      expect(lstatSync(path).ino).toBe(before);
      if (log !== null) expect(lstatSync(`${path}-wal`).ino).toBe(log);
      await restoreTo(a, { revision: 'HEAD', paths: [], directory: join(home, '..', 'copy') });
      const copy = join(home, '..', 'copy', DATABASE);
      expect(existsSync(`${copy}-wal`)).toBe(false);
      expect(sql(copy, 'PRAGMA integrity_check; SELECT count(*) FROM notes; PRAGMA journal_mode;')).toBe(`ok\n2\n${mode}`);
      expect(Number(sql(copy, 'SELECT count(*) FROM beats'))).toBeGreaterThan(0);
      await writing.ended();
    },
  );

  test.runIf(has('strace'))('is opened for reading alone, and nothing of it is cut, renamed or removed', async () => {
    const { a, directory, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal');
    });
    const writing = writers([join(home, DATABASE)]);
    await until(() => existsSync(join(home, `${DATABASE}-wal`)));
    const trace = join(directory, 'trace');
    const shims = join(directory, 'shims');
    const program = execFileSync('sh', ['-c', 'command -v sqlite3']).toString().trim();
    mkdirSync(shims);
    writeFileSync(
      join(shims, 'sqlite3'),
      `#!/bin/sh\nexec strace -f -y -A -o ${trace} -e trace=file,ftruncate,write,pwrite64 ${program} "$@"\n`,
      {
        mode: 0o755,
      },
    );
    const { PATH } = process.env;
    process.env['PATH'] = `${shims}:${PATH ?? ''}`;
    try {
      expect((await checkpoint(a)).complete).toBe(true);
    } finally {
      process.env['PATH'] = PATH;
    }
    await writing.ended();
    const calls = readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => line.includes(join(home, DATABASE)) && !line.includes('= -1'));
    expect(calls.some((line) => /open(at)?\(.*brain".*O_RDONLY/.test(line))).toBe(true);
    expect(calls.filter((line) => /brain".*O_(RDWR|WRONLY)/.test(line))).toEqual([]);
    expect(
      calls.filter((line) => / (unlink|unlinkat|rename|renameat2?|ftruncate|write|pwrite64)\(/.test(line) && !line.includes('brain-shm')),
    ).toEqual([]);
  });

  test('and another one that are written in turn are copied as of one moment', async () => {
    const other = 'private/state/other';
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal');
      makeDatabase(root, 'wal', other);
    });
    const one = spawn('sqlite3', ['-init', '/dev/null', '-batch', join(home, DATABASE)], { stdio: ['pipe', 'ignore', 'ignore'] });
    one.stdin.write(`.timeout 5000\nATTACH '${join(home, other)}' AS other;\n`);
    const turns = Array.from({ length: 40_000 }, () => 'INSERT INTO main.notes VALUES(1);\nINSERT INTO other.notes VALUES(1);\n');
    one.stdin.write(turns.join(''));
    one.stdin.on('error', () => undefined);
    await until(() => existsSync(join(home, `${other}-wal`)));
    const { facts } = await checkpoint(a);
    const wrote = one.exitCode === null;
    one.kill();
    await once(one, 'exit');
    expect(wrote).toBe(true);
    const [left = 0, right = 0] = (facts.databases ?? []).map(({ tables }) => tables.find(({ name }) => name === 'notes')?.rows);
    // Each is begun before the first is copied; what a copy takes is many times as long.
    expect(Math.abs(left - right)).toBeLessThan(200);
  });

  test('that nobody writes any more is not copied again while another one is', async () => {
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal');
    });
    const holder = spawn('sqlite3', ['-batch', join(home, DATABASE)], { stdio: ['pipe', 'ignore', 'ignore'] });
    holder.stdin.write("INSERT INTO notes VALUES('three');\n");
    await until(() => existsSync(join(home, `${DATABASE}-wal`)));
    await new Promise((done) => setTimeout(done, 300));
    await checkpoint(a);
    let copies = 0;
    const counting = {
      ...a,
      sqlite: async () => {
        const sqlite = await a.sqlite();
        return sqlite === null
          ? null
          : { ...sqlite, copy: (...given: Parameters<typeof sqlite.copy>) => ((copies += given[0].length), sqlite.copy(...given)) };
      },
    };
    expect((await checkpoint(counting)).recorded).toBe(false);
    expect((await status(a)).changes).toEqual([]);
    writeFileSync(join(home, 'private/memory/new.md'), 'new\n');
    expect((await checkpoint(counting)).facts.databases).toMatchObject([{ tables: [{ name: 'notes', rows: 3 }] }]);
    expect(copies).toBe(0);
    holder.stdin.write("INSERT INTO notes VALUES('four');\n");
    await until(() => sql(join(home, DATABASE), 'SELECT count(*) FROM notes') === '4');
    expect((await status(a)).changes).toEqual([{ kind: 'changed', path: DATABASE }]);
    expect((await checkpoint(counting)).facts.databases).toMatchObject([{ tables: [{ name: 'notes', rows: 4 }] }]);
    expect(copies).toBe(1);
    holder.stdin.end();
    await once(holder, 'exit');
  });

  test('with a log that a crash left travels with it, and what it holds is there', async () => {
    const { b, home, away } = await arrived(temporary(), (root) => {
      nativeAgent(root);
      const path = makeDatabase(root, 'wal');
      // What a process that was killed leaves: rows that are in the log alone.
      execFileSync('sqlite3', ['-batch', path], {
        input: `INSERT INTO notes VALUES('three');\n.shell cp ${path} ${path}.a; cp ${path}-wal ${path}.b\n`,
      });
      copyFileSync(`${path}.a`, path);
      copyFileSync(`${path}.b`, `${path}-wal`);
      execFileSync('rm', [`${path}.a`, `${path}.b`]);
    });
    expect(readFileSync(join(away, `${DATABASE}-wal`))).toEqual(readFileSync(join(home, `${DATABASE}-wal`)));
    expect(existsSync(join(away, `${DATABASE}-shm`))).toBe(false);
    const facts = (await status(at(b, away))).newest?.facts;
    expect(facts?.databases).toMatchObject([{ path: DATABASE, tables: [{ name: 'notes', rows: 3 }] }]);
    expect(sql(join(away, DATABASE), 'SELECT count(*) FROM notes')).toBe('3');
  });

  test('that is put back has no log of another state beside it', async () => {
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal');
    });
    const path = join(home, DATABASE);
    const log = join(temporary(), 'log');
    execFileSync('sqlite3', ['-batch', path], { input: `DELETE FROM notes;\n.shell cp ${path}-wal ${log}\n` });
    copyFileSync(log, `${path}-wal`);
    await restore(a, { revision: '2', paths: [path], confirm: () => Promise.resolve() });
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect(sql(path, 'PRAGMA integrity_check; SELECT count(*) FROM notes')).toBe('ok\n2');
  });

  test('that stays locked, is empty, zeroed, or has no table is told as such', async () => {
    const { a, home } = await adopted(temporary());
    const path = makeDatabase(home, 'delete');
    writeFileSync(join(home, 'private/state/empty.db'), '');
    writeFileSync(join(home, 'private/state/zero.sqlite'), Buffer.alloc(8192));
    sql(join(home, 'private/state/bare.db'), 'CREATE TABLE t(x); DROP TABLE t;');
    writeFileSync(join(home, 'private/state/._bare.db'), Buffer.from([0, 5, 0x16, 7, 0, 2, 0, 0]));
    const holder = spawn('sqlite3', ['-batch', path], { stdio: ['pipe', 'pipe', 'ignore'] });
    holder.stdin.write('PRAGMA locking_mode=exclusive;\nBEGIN EXCLUSIVE;\nSELECT 1;\n');
    await once(holder.stdout, 'data');
    try {
      const found = await checkpoint(a);
      expect(found.complete).toBe(false);
      const told = found.facts.findings.map(({ code, subject }) => `${code} ${subject}`).sort();
      expect(told).toEqual([
        'APPLEDOUBLE_SKIPPED private/state/._bare.db',
        'DATABASE_EMPTY private/state/empty.db',
        `DATABASE_LOCKED ${DATABASE}`,
        'DATABASE_TABLELESS private/state/bare.db',
        'DATABASE_ZEROED private/state/zero.sqlite',
      ]);
    } finally {
      holder.stdin.end();
      await once(holder, 'exit');
    }
    expect((await checkpoint(a)).complete).toBe(true);
  });

  test('whose table lost its rows raises an alarm', async () => {
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'delete');
    });
    const path = join(home, DATABASE);
    sql(path, 'CREATE TABLE blocks(x); INSERT INTO blocks VALUES(1); CREATE TABLE "odd/ .."(x); INSERT INTO "odd/ .." VALUES(1);');
    await checkpoint(a);
    sql(path, 'DELETE FROM blocks; DELETE FROM "odd/ ..";');
    expect((await checkpoint(a)).newAlarms.map(({ subject }) => subject)).toEqual([
      `${DATABASE}: table blocks`,
      `${DATABASE}: table odd/ ..`,
    ]);
    sql(path, 'INSERT INTO blocks VALUES(1); INSERT INTO "odd/ .." VALUES(1);');
    expect((await checkpoint(a)).facts.alarms).toEqual([]);
    sql(path, 'DELETE FROM notes');
    expect((await checkpoint(a)).newAlarms).toMatchObject([{ code: 'TABLE_EMPTIED', subject: `${DATABASE}: table notes` }]);
  });

  test('that is written while it is copied is copied again the next time', async () => {
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal');
    });
    const path = join(home, DATABASE);
    const holder = spawn('sqlite3', ['-batch', path], { stdio: ['pipe', 'ignore', 'ignore'] });
    holder.stdin.write("INSERT INTO notes VALUES('three');\n");
    await until(() => sql(path, 'SELECT count(*) FROM notes') === '3');
    const slow = {
      ...a,
      sqlite: async () => {
        const sqlite = await a.sqlite();
        if (sqlite === null) return null;
        const copy: typeof sqlite.copy = async (...given) => {
          const copied = await sqlite.copy(...given);
          holder.stdin.write("INSERT INTO notes VALUES('four');\n");
          await until(() => sql(path, 'SELECT count(*) FROM notes') === '4');
          await new Promise((done) => setTimeout(done, 100));
          return copied;
        };
        return { ...sqlite, copy };
      },
    };
    expect((await checkpoint(slow)).facts.databases).toMatchObject([{ tables: [{ name: 'notes', rows: 3 }] }]);
    expect((await checkpoint(a)).facts.databases).toMatchObject([{ tables: [{ name: 'notes', rows: 4 }] }]);
    holder.stdin.end();
    await once(holder, 'exit');
  });

  test('that could not be copied comes with its log, and is copied when it can be', async () => {
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal');
    });
    const path = join(home, DATABASE);
    const holder = spawn('sqlite3', ['-batch', path], { stdio: ['pipe', 'ignore', 'ignore'] });
    holder.stdin.write("INSERT INTO notes VALUES('three');\n");
    await until(() => sql(path, 'SELECT count(*) FROM notes') === '3');
    const without = { ...a, sqlite: () => Promise.resolve(null) };
    expect((await checkpoint(without)).complete).toBe(false);
    await restoreTo(a, { revision: 'HEAD', paths: [], directory: join(home, '..', 'raw') });
    expect(sql(join(home, '..', 'raw', DATABASE), 'SELECT count(*) FROM notes')).toBe('3');
    // It is told as long as it is so.
    expect((await checkpoint(without)).facts.findings).toMatchObject([{ code: 'SQLITE_RAW' }]);
    expect(await checkpoint(a)).toMatchObject({ recorded: true, complete: true, facts: { findings: [] } });
    await restoreTo(a, { revision: 'HEAD', paths: [], directory: join(home, '..', 'copied') });
    expect(existsSync(join(home, '..', 'copied', `${DATABASE}-wal`))).toBe(false);
    expect(sql(join(home, '..', 'copied', DATABASE), 'SELECT count(*) FROM notes')).toBe('3');
    holder.stdin.end();
    await once(holder, 'exit');
  });

  test('of class secret keeps its log among the secrets, and is put back whole while it is in use', async () => {
    const secret = 'private/secrets/vault';
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal', secret);
    });
    const path = join(home, secret);
    const holder = spawn('sqlite3', ['-batch', path], { stdio: ['pipe', 'ignore', 'ignore'] });
    holder.stdin.write("INSERT INTO notes VALUES('canary-of-the-vault');\n");
    await until(() => sql(path, 'SELECT count(*) FROM notes') === '3');
    await new Promise((done) => setTimeout(done, 200));
    expect((await checkpoint(a)).facts.databases).toBe(undefined);
    // Another secret changes, so that the sheet is made anew.
    writeFileSync(join(home, 'private/secrets/other.env'), 'KEY=canary\n');
    expect((await checkpoint(a)).complete).toBe(true);
    await restoreTo(a, { revision: 'HEAD', paths: [], directory: join(home, '..', 'copy') });
    expect(sql(join(home, '..', 'copy', secret), 'PRAGMA integrity_check; SELECT count(*) FROM notes')).toBe('ok\n3');
    holder.stdin.end();
    await once(holder, 'exit');
  });

  test('that a process has open by another name is in use, too', async () => {
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'delete');
    });
    const other = join(home, '..', 'another name');
    linkSync(join(home, DATABASE), other);
    const writing = writers([other]);
    await until(() => beating(other));
    const live = await checkpoint({ ...a, sqlite: () => Promise.resolve(null) });
    expect(live.facts.findings).toMatchObject([{ code: 'SQLITE_RAW', subject: DATABASE }]);
    expect((await checkpoint(a)).complete).toBe(true);
    await writing.ended();
  });

  test('that is live is a finding where there is no means to copy it', async () => {
    const { a, home } = await adopted(temporary(), (root) => {
      nativeAgent(root);
      makeDatabase(root, 'wal');
    });
    const writing = writers([join(home, DATABASE)]);
    await until(() => existsSync(join(home, `${DATABASE}-wal`)));
    const live = await checkpoint({ ...a, sqlite: () => Promise.resolve(null) });
    expect(live.complete).toBe(false);
    expect(live.facts.findings).toMatchObject([{ code: 'SQLITE_RAW', subject: DATABASE }]);
    await writing.ended();
    expect((await checkpoint(a)).complete).toBe(true);
  });
});
