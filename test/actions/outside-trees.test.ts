import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { afterMove } from '../../src/actions/after-move.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { diff } from '../../src/actions/diff.ts';
import { init } from '../../src/actions/init.ts';
import { rehome } from '../../src/actions/rehome.ts';
import { planRestore, restore } from '../../src/actions/restore.ts';
import { restoreTo } from '../../src/actions/restore-to.ts';
import { status } from '../../src/actions/status.ts';
import { verify } from '../../src/actions/verify.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { decodeFacts, encodeFacts } from '../../src/manifest/facts.ts';
import { nothing } from '../support/agent.ts';
import { testHost } from '../support/host.ts';
import { buildClaudeCode } from '../support/layouts/claude-code.ts';
import { buildCodex } from '../support/layouts/codex.ts';
import { buildOpenclaw } from '../support/layouts/openclaw.ts';
import { NOTHING, moved, query } from '../support/moved.ts';
import { has } from '../support/tools.ts';
import { temporary } from '../support/tree.ts';

/** An OpenClaw whose workspace and one agent's directory lie beside its own, in the old home. */
const scattered: Parameters<typeof moved>[0] = (root, options) => {
  buildOpenclaw(root, options);
  const { home } = options;
  mkdirSync(join(home, 'ws/notes'), { recursive: true });
  writeFileSync(join(home, 'ws/MEMORY.md'), `the harbour, see ${home}/project\n`);
  writeFileSync(join(home, 'ws/TOOLS.md'), `the report: ${home}/bin/report\n`);
  writeFileSync(join(home, 'ws/notes/TOOLS.md'), `said once: ${home}/bin/report\n`);
  symlinkSync(join(root, 'openclaw.json'), join(home, 'ws/notes/config'));
  chmodSync(join(home, 'ws/notes'), 0o555);
  mkdirSync(join(home, 'night'));
  execFileSync('sqlite3', [
    join(home, 'night/openclaw-agent.sqlite'),
    `CREATE TABLE transcript_events(seq INTEGER PRIMARY KEY, event_json TEXT);
     INSERT INTO transcript_events VALUES(0, '${JSON.stringify({ cwd: `${root}/agents/night`, label: home })}');`,
  ]);
  writeFileSync(
    join(root, 'openclaw.json'),
    JSON.stringify({ agents: { defaults: { workspace: join(home, 'ws') }, entries: { night: { agentDir: join(home, 'night') } } } }),
  );
};

const confirm = (): Promise<void> => Promise.resolve();

async function outsideLine(ports: Ports): Promise<unknown> {
  return (await verify(ports, { path: null, input: nothing() })).lines.find(({ name }) => name === 'outside');
}

describe.runIf(has('sqlite3'))('what lies outside of the root', () => {
  test('is made one of the new place where its files are known by where they would lie within', async () => {
    const { here, root, directory, home } = await moved(scattered);
    const there = join(directory, 'b');
    const done = await rehome(here, NOTHING);
    expect(done.outside.map(({ name, how }) => [name, how])).toEqual([
      ['~/night/', 'placed'],
      ['~/ws/', 'placed'],
    ]);
    expect(readFileSync(join(there, 'ws/TOOLS.md'), 'utf8')).toBe(`the report: ${there}/bin/report\n`);
    // What was said stays, and is told.
    expect(readFileSync(join(there, 'ws/MEMORY.md'), 'utf8')).toContain(`${home}/project`);
    expect(done.mentions.map(({ path }) => path)).toContain('~/ws/MEMORY.md');
    expect(readlinkSync(join(there, 'ws/notes/config'))).toBe(join(root, 'openclaw.json'));
    expect(JSON.parse(query(join(there, 'night/openclaw-agent.sqlite'), 'SELECT event_json FROM transcript_events'))).toEqual({
      cwd: `${root}/agents/night`,
      label: home,
    });
    for (const path of ['~/ws/TOOLS.md', '~/ws/notes/config', '~/night/openclaw-agent.sqlite'])
      expect(done.rewrites.map((one) => one.path)).toContain(path);
    expect((await checkpoint(here)).recorded).toBe(false);
    expect((await status(here)).changes).toEqual([]);
    expect(await outsideLine(here)).toEqual({ name: 'outside', ok: true, text: '~/night/, ~/ws/ is what was recorded' });
    expect((await afterMove(here, { find: 'the harbour, see' })).find(({ name }) => name === 'recalls')).toMatchObject({
      ok: true,
      text: "'the harbour, see' is in ~/ws/MEMORY.md",
    });
  });

  test('has its databases made ones of the new place, where TOML names another one for them', async () => {
    const { here, directory, root } = await moved((place, options) => {
      buildCodex(place, options);
      mkdirSync(join(options.home, 'dbs'));
      execFileSync('sh', ['-c', `mv ${place}/state_*.sqlite ${options.home}/dbs/`]);
      const config = readFileSync(join(place, 'config.toml'), 'utf8');
      writeFileSync(join(place, 'config.toml'), `sqlite_home = "${options.home}/dbs"\n${config}`);
    });
    await rehome(here, NOTHING);
    const database = join(directory, 'b/dbs/state_5.sqlite');
    expect(query(database, 'SELECT rollout_path FROM threads LIMIT 1')).toContain(`${root}/sessions/`);
    expect(readFileSync(join(root, 'config.toml'), 'utf8')).toContain(`sqlite_home = "${directory}/b/dbs"`);
  });

  test('is told path by path by diff and verify, and what changed is put back path by path or whole', async () => {
    const { here, root, directory } = await moved(scattered);
    const there = join(directory, 'b');
    await rehome(here, NOTHING);
    const { session } = await checkpoint(here);
    const first = session.state.seq;
    writeFileSync(join(there, 'ws/MEMORY.md'), 'the harbour is closed\n');
    writeFileSync(join(there, 'ws/new.md'), 'new\n');
    rmSync(join(there, 'ws/TOOLS.md'));
    const changed = [
      { kind: 'changed', path: '~/ws/MEMORY.md' },
      { kind: 'removed', path: '~/ws/TOOLS.md' },
      { kind: 'added', path: '~/ws/new.md' },
    ];
    expect((await diff(here)).changes).toEqual(changed);
    expect(await outsideLine(here)).toMatchObject({ ok: true, text: expect.stringContaining('3 paths') as string });
    await checkpoint(here, { declare: ['memory-repair'] });
    expect((await diff(here, { from: 'HEAD~1', to: 'HEAD' })).changes).toEqual(changed);
    // As it is named in a state, by its place, and from the current directory.
    for (const named of ['~/ws/MEMORY.md', join(there, 'ws/MEMORY.md'), '../ws/MEMORY.md'])
      expect((await planRestore({ ...here, cwd: join(there, 'moved') }, { revision: String(first), paths: [named] })).changes).toEqual([
        { kind: 'changed', path: '~/ws/MEMORY.md' },
      ]);
    await expect(planRestore(here, { revision: String(first), paths: ['~/elsewhere'] })).rejects.toMatchObject({ code: 'PATH_UNKNOWN' });
    await expect(planRestore(here, { revision: String(first), paths: ['~/ws/none'] })).rejects.toMatchObject({ code: 'PATH_UNKNOWN' });
    await restore(here, { revision: String(first), paths: ['~/ws/MEMORY.md'], confirm });
    expect(readFileSync(join(there, 'ws/MEMORY.md'), 'utf8')).toContain('the harbour, see');
    expect([existsSync(join(there, 'ws/TOOLS.md')), existsSync(join(there, 'ws/new.md'))]).toEqual([false, true]);
    // The whole: what the root and its surroundings were.
    writeFileSync(join(root, 'workspace/MEMORY.md'), 'another\n');
    await checkpoint(here);
    await restore(here, { revision: String(first), paths: [], confirm });
    expect([existsSync(join(there, 'ws/TOOLS.md')), existsSync(join(there, 'ws/new.md'))]).toEqual([true, false]);
    expect((await diff(here, { from: String(first), to: 'HEAD' })).changes).toEqual([]);
    expect((await status(here)).changes).toEqual([]);
    const look = join(directory, 'look');
    await restoreTo(here, { revision: 'HEAD', paths: ['~/ws/notes'], directory: look });
    expect(existsSync(join(look, 'notes/TOOLS.md'))).toBe(true);
    await expect(
      restoreTo(here, { revision: 'HEAD', paths: ['~/ws/notes', join(root, 'openclaw.json')], directory: `${look}.2` }),
    ).rejects.toMatchObject({ code: 'USAGE_WRONG' });
  });

  test('that is one file goes back alone, and nothing beside it is looked at', async () => {
    const { here, directory } = await moved((root, options) => {
      buildClaudeCode(root, options);
      writeFileSync(join(options.home, '.claude.json'), '{"projects":{}}');
    });
    await rehome(here, NOTHING);
    const place = join(directory, 'b/.claude.json');
    chmodSync(place, 0o640);
    await checkpoint(here);
    writeFileSync(place, '{"projects":{"/x":1}}');
    expect((await diff(here)).changes).toEqual([{ kind: 'changed', path: '~/.claude.json' }]);
    await restore(here, { revision: 'HEAD', paths: ['~/.claude.json'], confirm });
    expect(readFileSync(place, 'utf8')).toBe('{"projects":{}}');
    expect(statSync(place).mode & 0o777).toBe(0o640);
    rmSync(place);
    await checkpoint(here);
    await restore(here, { revision: 'HEAD~1', paths: [], confirm });
    expect(readFileSync(place, 'utf8')).toBe('{"projects":{}}');
    expect((await checkpoint(here)).facts.alarms).toEqual([]);
    // Its neighbours, and a state in which it is not.
    writeFileSync(join(directory, 'b/other'), 'beside\n');
    const withIt = (await checkpoint(here)).session.state.seq;
    rmSync(place);
    const without = (await checkpoint(here, { declare: ['memory-repair'] })).session.state.seq;
    await restore(here, { revision: String(withIt), paths: ['~/.claude.json'], confirm });
    const { changes } = await restore(here, { revision: String(without), paths: ['~/.claude.json'], confirm });
    expect([changes, existsSync(place)]).toEqual([[{ kind: 'removed', path: '~/.claude.json' }], false]);
    expect(readFileSync(join(directory, 'b/other'), 'utf8')).toBe('beside\n');
  });

  test('of a Claude Code as its first session leaves it is known by that session', async () => {
    const directory = temporary();
    const root = join(directory, 'c/.claude');
    mkdirSync(join(root, 'projects/-home-ada-project'), { recursive: true });
    writeFileSync(join(root, 'projects/-home-ada-project/0b9d.jsonl'), '{}\n');
    writeFileSync(join(directory, 'c/.claude.json'), '{}');
    const { profile, elsewhere } = await init(testHost(directory, 'c', { root }), { directory: root, recovery: null });
    expect([profile, elsewhere.map(({ name }) => name)]).toEqual(['claude-code', ['~/.claude.json']]);
  });

  test('whose restore was interrupted is put back by the command that is told', async () => {
    const { here, root, directory } = await moved(scattered);
    await rehome(here, NOTHING);
    const first = (await checkpoint(here)).session.state.seq;
    writeFileSync(join(directory, 'b/ws/MEMORY.md'), 'the harbour is closed\n');
    await checkpoint(here);
    let isNoted = false;
    const dying = testHost(directory, 'b', {
      root,
      before: () => {
        if (isNoted) throw new Error('crash');
        isNoted = existsSync(join(root, '.perdure/local/restore'));
      },
    });
    const options = { revision: String(first), paths: ['~/ws/MEMORY.md'], confirm };
    await expect(restore(dying, options)).rejects.toThrow('crash');
    await expect(checkpoint(here)).rejects.toMatchObject({
      code: 'RESTORE_UNFINISHED',
      hints: [{ command: expect.stringContaining(` '~/ws/MEMORY.md' --yes`) as string }, {}],
    });
    await restore(here, options);
    expect(readFileSync(join(directory, 'b/ws/MEMORY.md'), 'utf8')).toContain('the harbour, see');
    expect((await status(here)).changes).toEqual([]);
  });

  test('is put back only where it can be: what is in its place, or writes to it, is told before anything is changed', async () => {
    const { here, root, directory } = await moved(scattered);
    const ws = join(directory, 'b/ws');
    await rehome(here, NOTHING);
    const first = String((await checkpoint(here)).session.state.seq);
    writeFileSync(join(ws, 'MEMORY.md'), 'the harbour is closed\n');
    writeFileSync(join(root, 'workspace/MEMORY.md'), 'another\n');
    await checkpoint(here);
    const whole = { revision: first, paths: [], confirm };
    const refused = async (code: string): Promise<void> => {
      await expect(restore(here, whole)).rejects.toMatchObject({ code });
      // Nor is a part of it done.
      expect(readFileSync(join(root, 'workspace/MEMORY.md'), 'utf8')).toBe('another\n');
      expect(existsSync(join(root, '.perdure/local/restore'))).toBe(false);
    };
    const held = openSync(join(ws, 'MEMORY.md'), 'a');
    const child = spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', held] });
    closeSync(held);
    await refused('WRITER_FOUND');
    child.kill();
    await once(child, 'exit');
    renameSync(ws, `${ws}.real`);
    symlinkSync(`${ws}.real`, ws);
    await refused('TARGET_OCCUPIED');
    rmSync(ws);
    writeFileSync(ws, 'a file\n');
    await refused('TARGET_OCCUPIED');
    rmSync(ws);
    renameSync(`${ws}.real`, ws);
    await restore(here, whole);
    expect(readFileSync(join(ws, 'MEMORY.md'), 'utf8')).toContain('the harbour, see');
    // A place that the config names no more, where the newest state has nothing.
    writeFileSync(join(root, 'openclaw.json'), '{}');
    await checkpoint(here, { declare: ['memory-repair'] });
    await refusedNow(here, first);
    expect(readFileSync(join(root, 'openclaw.json'), 'utf8')).toBe('{}');
  });

  test('is never a place of the account, of the system or of the agent itself, however it is spelled', async () => {
    const { here, directory, root } = await moved(buildOpenclaw);
    await rehome(here, NOTHING);
    const home = join(directory, 'b');
    mkdirSync(join(home, '.ssh'));
    writeFileSync(join(home, '.ssh/config'), 'Host canary\n');
    writeFileSync(join(home, '.netrc'), 'password canary\n');
    mkdirSync(join(home, 'conf'));
    writeFileSync(join(home, 'conf/.env'), 'KEY=canary\n');
    symlinkSync('.ssh', join(home, 'lnk'));
    const named = [
      '~/.ssh/config',
      '~/lnk/config',
      '~/.netrc',
      '~/conf/.env',
      `${home}//.ssh/config`,
      `${home}/x/../.ssh/config`,
      '/etc/hostname',
      `${root}/.env`,
    ];
    writeFileSync(join(root, 'openclaw.json'), JSON.stringify({ list: named.map((one) => ({ $include: one })) }));
    const { facts } = await checkpoint(here);
    expect(facts.roots.map(({ name }) => name)).toEqual(['main']);
    // Deep nesting in a config is no way to end a command.
    writeFileSync(join(root, 'openclaw.json'), `${'['.repeat(20_000)}${']'.repeat(20_000)}`);
    expect((await status(here)).standing).toBe('ACTIVE');
    for (const name of ['rel/x', '/x/../etc/y', '~/./x', '//etc/x', '/', '~', '~user/x', '', 'main/'])
      expect(() => decodeFacts(encodeFacts({ ...facts, roots: [...facts.roots, { name, mode: 0o700, mtime: '0', pages: [] }] }))).toThrow(
        /not valid/,
      );
  });
});

async function refusedNow(here: Ports, revision: string): Promise<void> {
  await expect(restore(here, { revision, paths: [], confirm })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
}
