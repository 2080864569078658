import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { afterMove } from '../../src/actions/after-move.ts';
import { promote } from '../../src/actions/answer.ts';
import { verifyBetween } from '../../src/actions/between.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { guard } from '../../src/actions/guard.ts';
import { init } from '../../src/actions/init.ts';
import { pack } from '../../src/actions/pack.ts';
import { planRehome, rehome } from '../../src/actions/rehome.ts';
import { release } from '../../src/actions/release.ts';
import { restore } from '../../src/actions/restore.ts';
import { moveNote } from '../../src/actions/home/due.ts';
import { openSession } from '../../src/actions/session/session.ts';
import { status } from '../../src/actions/status.ts';
import { bringTo, inviteOf } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { buildClaudeCode } from '../support/layouts/claude-code.ts';
import { buildCodex } from '../support/layouts/codex.ts';
import { buildEnoch } from '../support/layouts/enoch.ts';
import { buildHermes } from '../support/layouts/hermes.ts';
import { buildLetta } from '../support/layouts/letta.ts';
import { buildOpenclaw } from '../support/layouts/openclaw.ts';
import { slugOf } from '../../src/install/relocate/path-map.ts';
import { has } from '../support/tools.ts';
import { NOTHING, moved, query } from '../support/moved.ts';
import { temporary } from '../support/tree.ts';

/** Files below a directory that hold a text, but for the control directory. */
function naming(root: string, text: string): readonly string[] {
  const list = readdirSync(root, { recursive: true, withFileTypes: true });
  return list
    .filter((entry) => entry.isFile() && !`${entry.parentPath}/`.includes('/.perdure/'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path).includes(text))
    .map((path) => path.slice(root.length + 1))
    .sort();
}

describe.runIf(has('sqlite3'))('an agent that moved', () => {
  test.each([
    ['openclaw', 'old', buildOpenclaw],
    ['openclaw', 'new', buildOpenclaw],
    ['hermes', 'old', buildHermes],
    ['hermes', 'new', buildHermes],
    ['claude-code', 'old', buildClaudeCode],
    ['claude-code', 'new', buildClaudeCode],
    ['codex', 'old', buildCodex],
    ['codex', 'new', buildCodex],
    ['letta', 'new', buildLetta],
    ['enoch', 'old', buildEnoch],
    ['enoch', 'new', buildEnoch],
  ] as const)('of %s is found out, does not run before it is at home, and is then (%s)', async (profile, era, build) => {
    const { old, root, here, directory } = await moved(build, { era });
    const before = await status(here);
    expect(before).toMatchObject({ profile, home: old });
    expect(before.next[0]?.command).toContain('rehome');
    const run = { command: ['true'], shared: false, env: process.env, cwd: directory, onSignal: () => () => undefined };
    await expect(guard(here, run)).rejects.toMatchObject({ code: 'REHOME_DUE' });
    const plan = await planRehome(here, NOTHING);
    const done = await rehome(here, NOTHING);
    expect(done.unwritten).toEqual([]);
    expect(done.rewrites.length).toBeGreaterThan(0);
    expect(plan.held).toEqual(done.held);
    expect(done.recorded).not.toBe(null);
    expect(await status(here)).toMatchObject({ standing: 'ACTIVE', home: null, changes: [] });
    expect(await guard(here, run)).toBe(0);
    // What still names the old place is told, whatever it is.
    const told = done.mentions.map(({ path }) => path);
    const texts = naming(root, old).filter((path) => !readFileSync(join(root, path)).subarray(0, 4096).includes(0));
    expect(texts.filter((path) => !told.includes(path)).filter((path) => !/auth|secret|cred|\.env|bak|token/i.test(path))).toEqual([]);
    const { lines } = await verifyBetween(here, `HEAD~1..HEAD`);
    expect(lines.map(({ ok }) => ok)).toEqual([true, true, true]);
    expect((await rehome(here, NOTHING)).recorded).toBe(null);
  });

  test('has paths rewritten where they stand for places, and left in what was said', async () => {
    const { old, root, here, home, directory } = await moved(buildOpenclaw, { era: 'old' });
    await rehome(here, NOTHING);
    const sessions = readFileSync(join(root, 'agents/main/sessions/sessions.json'), 'utf8');
    expect(sessions).toContain(`${root}/agents/main/sessions/s1.jsonl`);
    expect(sessions).not.toContain(old);
    const transcript = readFileSync(join(root, 'agents/main/sessions/s1.jsonl'), 'utf8');
    expect(transcript).toContain(`"cwd":"${root}/workspace"`);
    expect(transcript).toContain(`what is in ${home}/project?`);
    expect(readFileSync(join(root, 'openclaw.json'), 'utf8')).toContain(join(directory, 'b', 'project'));
    expect(readlinkSync(join(root, 'workspace/skills/shared'))).toBe(join(directory, 'b', '.agents/skills/shared'));
  });

  test('has its queues held until they are released, its leases dropped, and its databases whole', async () => {
    const { root, here } = await moved(buildOpenclaw);
    const database = join(root, 'state/openclaw.sqlite');
    const done = await rehome(here, NOTHING);
    expect(
      query(
        database,
        'PRAGMA integrity_check; SELECT count(*) FROM agent_database_leases; SELECT count(*) FROM delivery_queue_entries; SELECT count(*) FROM cron_jobs; SELECT path FROM agent_databases; PRAGMA user_version;',
      ),
    ).toBe(`ok\n0\n0\n0\n${root}/agents/main/agent/openclaw-agent.sqlite\n9`);
    expect(existsSync(`${database}-wal`)).toBe(false);
    expect(done.held.map(({ path, about }) => `${path} ${about}`)).toContain('state/openclaw.sqlite rows of the table cron_jobs');
    const { released } = await release(here);
    expect(released).toContain('state/openclaw.sqlite');
    expect(query(database, 'SELECT id FROM delivery_queue_entries; SELECT name FROM cron_jobs;')).toBe('d1\nmorning');
    expect(existsSync(`${database}.perdure-held`)).toBe(false);
    expect((await release(here)).released).toEqual([]);
    expect((await status(here)).newest?.facts?.alarms).toEqual([]);
    expect((await afterMove(here)).filter(({ ok, name }) => !ok && name !== 'needs')).toEqual([]);
  });

  test('has paths rewritten in the JSON of its databases, where they stand for places, and is told of those that are left', async () => {
    const { old, root, here, home, directory } = await moved(buildOpenclaw);
    const { mentions, unsearched } = await rehome(here, NOTHING);
    const agent = join(root, 'agents/main/agent/openclaw-agent.sqlite');
    const there = join(directory, 'b');
    // Of a session whose entry was changed OpenClaw asks that it be repaired: it finds the workspace by its config.
    expect(query(agent, 'SELECT entry_valid FROM session_nodes')).toBe('1');
    const events = query(agent, 'SELECT event_json FROM transcript_events ORDER BY seq').split('\n');
    expect(events.map((line) => JSON.parse(line) as unknown)).toEqual([
      { type: 'session', cwd: `${root}/workspace` },
      { role: 'user', content: `when does the harbour of ${home} close?` },
    ]);
    await release(here);
    const jobs = query(join(root, 'state/openclaw.sqlite'), 'SELECT job_json FROM cron_jobs');
    expect(JSON.parse(jobs)).toEqual({ payload: { message: `look in ${there}/project` } });
    expect(mentions.filter(({ columns }) => columns !== undefined)).toEqual([
      { path: 'agents/main/agent/openclaw-agent.sqlite', count: 2, columns: ['session_nodes.entry_json', 'transcript_events.event_json'] },
      { path: 'state/openclaw.sqlite', count: 1, columns: ['workspace_setup_state.workspace_path'] },
    ]);
    expect(unsearched).toEqual([]);
    expect(old).not.toBe(root);
  });

  test('has files of queues set aside, and one that was made anew meanwhile is in the way', async () => {
    const { root, here } = await moved(buildOpenclaw, { era: 'old' });
    await rehome(here, NOTHING);
    expect(existsSync(join(root, 'delivery-queue'))).toBe(false);
    expect(readFileSync(join(root, 'delivery-queue.perdure-held/d1.json'), 'utf8')).toContain('the tide turns');
    writeFileSync(join(root, 'cron/jobs.json'), '{"jobs":[]}\n');
    await expect(release(here)).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    expect(existsSync(join(root, 'delivery-queue'))).toBe(false);
    execFileSync('rm', [join(root, 'cron/jobs.json')]);
    expect((await release(here)).released).toEqual([
      'agents/main/agent/codex-home/queue_1.sqlite',
      'cron/jobs.json',
      'delivery-queue',
      'session-delivery-queue',
    ]);
    expect(readFileSync(join(root, 'delivery-queue/d1.json'), 'utf8')).toContain('the tide turns');
  });

  test('keeps what is held through a second move, and what came to it there', async () => {
    const { directory, root, here } = await moved(buildOpenclaw);
    await rehome(here, NOTHING);
    const database = join(root, 'state/openclaw.sqlite');
    query(database, "INSERT INTO delivery_queue_entries VALUES('delivery','d2','pending','{}')");
    mkdirSync(join(root, 'delivery-queue'));
    writeFileSync(join(root, 'delivery-queue/n.json'), '{}\n');
    const c = testHost(directory, 'c', { root: join(directory, 'c') });
    mkdirSync(join(directory, 'c'));
    await fence(here, { to: { invite: await inviteOf(c) }, acceptNew: true, drain: 0 });
    await pack(here, { output: join(directory, 'second.tar'), includeSecrets: true, write: () => Promise.resolve() });
    const third = join(directory, 'c', '.agent');
    await bringTo(c, { bundle: join(directory, 'second.tar'), away: third });
    const there = at(c, third);
    await promote(there);
    await rehome(there, NOTHING);
    const moreover = join(third, 'state/openclaw.sqlite');
    expect(query(moreover, 'SELECT count(*) FROM delivery_queue_entries')).toBe('0');
    expect(query(`${moreover}.perdure-held`, 'SELECT id FROM delivery_queue_entries ORDER BY id; SELECT count(*) FROM cron_jobs')).toBe(
      'd1\nd2\n1',
    );
    expect(existsSync(join(third, 'delivery-queue'))).toBe(false);
    await release(there);
    expect(query(moreover, 'SELECT id FROM delivery_queue_entries ORDER BY id; SELECT count(*) FROM cron_jobs')).toBe('d1\nd2\n1');
    expect(readFileSync(join(third, 'delivery-queue/n.json'), 'utf8')).toBe('{}\n');
  });

  test('is left alone where something in it cannot be changed, or was written meanwhile', async () => {
    const { root, here } = await moved(buildOpenclaw);
    const without = { ...here, sqlite: () => Promise.resolve(null) };
    await expect(rehome(without, NOTHING)).rejects.toMatchObject({ code: 'REQUIREMENT_MISSING' });
    const sqlite = await here.sqlite();
    if (sqlite === null) throw new Error('no sqlite3');
    const failing = {
      ...here,
      sqlite: () => Promise.resolve({ ...sqlite, change: () => Promise.reject(new Error('UNIQUE constraint failed')) }),
    };
    await expect(rehome(failing, NOTHING)).rejects.toMatchObject({ code: 'REHOME_STUCK' });
    const writing = {
      ...here,
      sqlite: () => {
        appendFileSync(join(root, 'openclaw.json'), '// written meanwhile\n');
        return Promise.resolve(sqlite);
      },
    };
    await expect(rehome(writing, NOTHING)).rejects.toMatchObject({ code: 'TREE_CHANGING' });
    expect(readFileSync(join(root, 'openclaw.json'), 'utf8')).toContain('written meanwhile');
    expect((await status(here)).home).not.toBe(null);
    const main = ['state/openclaw.sqlite', 'state/openclaw-quarantine.sqlite'];
    const skip = [...main, 'agents/main/agent/openclaw-agent.sqlite', 'agents/main/agent/codex-home/state_5.sqlite'];
    const skipped = await rehome(without, { moved: [], skip, asIs: false });
    expect(skipped.unwritten.map(({ path }) => path)).toEqual(skip);
  });

  test('is not led out of its root by a link in the place of a new name', async () => {
    const { directory, root, here } = await moved((place, options) => {
      buildClaudeCode(place, options);
      const [project = ''] = readdirSync(join(place, 'projects'));
      const now = project.replace(slugOf(options.home), slugOf(join(options.home, '..', 'b')));
      mkdirSync(join(options.home, '..', 'victim'));
      writeFileSync(join(options.home, '..', 'victim', 'sessions-index.json'), 'mine');
      symlinkSync(join(options.home, '..', 'victim'), join(place, 'projects', now));
    });
    const done = await rehome(here, NOTHING).catch((error: unknown) => error);
    expect(readFileSync(join(directory, 'victim', 'sessions-index.json'), 'utf8')).toBe('mine');
    expect(readdirSync(join(directory, 'victim'))).toEqual(['sessions-index.json']);
    expect(done).toHaveProperty('renames', []);
    expect(existsSync(join(root, 'projects'))).toBe(true);
  });

  test('says what credentials it lacks until they are there', async () => {
    const directory = temporary();
    const old = join(directory, 'a', '.agent');
    mkdirSync(old, { recursive: true });
    mkdirSync(join(directory, 'b'));
    buildCodex(old, { era: 'new', home: join(directory, 'a') });
    const a = testHost(directory, 'a', { root: old });
    const b = testHost(directory, 'b', { root: join(directory, 'b') });
    await init(a, { directory: old, recovery: null });
    await checkpoint(a);
    await fence(a, { to: { invite: await inviteOf(b) }, acceptNew: true, drain: 0 });
    await pack(a, { output: join(directory, 'x.tar'), includeSecrets: false, write: () => Promise.resolve() });
    const root = join(directory, 'b', '.agent');
    await bringTo(b, { bundle: join(directory, 'x.tar'), away: root });
    const here = at(b, root);
    await promote(here);
    expect((await rehome(here, NOTHING)).redo.map(({ path }) => path)).toContain('auth.json');
    writeFileSync(join(root, 'AGENTS.md'), 'be kind\n');
    expect((await checkpoint(here)).complete).toBe(false);
    const line = async (): Promise<unknown> => (await afterMove(here)).find(({ name }) => name === 'secrets');
    expect(await line()).toMatchObject({ ok: false, text: expect.stringContaining('auth.json') as string });
    writeFileSync(join(root, 'AGENTS.md'), 'be very kind\n');
    await checkpoint(here);
    expect(await line()).toMatchObject({ ok: false });
    for (const path of ['auth.json', '.env', '.credentials.json', 'config.toml.bak']) writeFileSync(join(root, path), '{}\n');
    await checkpoint(here);
    expect((await checkpoint(here)).facts.findings.filter(({ subject }) => subject === 'auth.json')).toEqual([]);
  });

  test('whose release was interrupted has it finished by the same command, without an alarm', async () => {
    const { directory, root, here } = await moved(buildOpenclaw);
    await rehome(here, NOTHING);
    let count = 0;
    const dying = testHost(directory, 'b', {
      root,
      before: () => {
        // After the note was written: the rows are put back by SQLite itself, and the record is not written any more.
        if (existsSync(join(root, '.perdure/local/release')) && ++count > 1) throw new Error('crash');
      },
    });
    await expect(release(at(dying, root))).rejects.toThrow('crash');
    await release(here);
    expect(query(join(root, 'state/openclaw.sqlite'), 'SELECT id FROM delivery_queue_entries; SELECT name FROM cron_jobs;')).toBe(
      'd1\nmorning',
    );
    expect((await status(here)).newest?.facts?.alarms).toEqual([]);
  });

  test('of Enoch has its epoch advanced and its registry untouched', async () => {
    const { old, root, here } = await moved(buildEnoch);
    const epoch = (place: string): unknown => JSON.parse(readFileSync(join(place, '.enoch/daemon_epoch.json'), 'utf8')) as unknown;
    const generation = /"generation":\s*(\d+)/.exec(JSON.stringify(epoch(old)))?.[1];
    await rehome(here, NOTHING);
    expect(/"generation":\s*(\d+)/.exec(JSON.stringify(epoch(root)))?.[1]).toBe(String(Number(generation) + 1));
    expect(readFileSync(join(root, '.enoch/state_manifest.json'))).toEqual(readFileSync(join(old, '.enoch/state_manifest.json')));
  });

  test('whose rehome was interrupted is not recorded half done, and the same command finishes it', async () => {
    const { old, root, here } = await moved(buildOpenclaw, { era: 'old' });
    const { control, state } = await openSession(here);
    // As a crash leaves it between two files: begun from the recorded state, some in place, one torn.
    await moveNote({ ports: here, control }).write({
      from: { root: old, home: 'x', host: 'y' },
      begun: { manifest: state.manifest ?? ('' as never), moved: [], renames: [] },
    });
    renameSync(join(root, 'delivery-queue'), join(root, 'delivery-queue.perdure-held'));
    writeFileSync(join(root, 'agents/main/sessions/sessions.json'), '{"agent:main');
    await expect(checkpoint(here)).rejects.toMatchObject({ code: 'REHOME_UNFINISHED' });
    expect((await status(here)).next[0]?.command).toContain('rehome');
    await rehome(here, NOTHING);
    expect(JSON.parse(readFileSync(join(root, 'agents/main/sessions/sessions.json'), 'utf8'))).toHaveProperty(
      ['agent:main:main', 'sessionFile'],
      `${root}/agents/main/sessions/s1.jsonl`,
    );
    expect(readFileSync(join(root, 'delivery-queue.perdure-held/d1.json'), 'utf8')).toContain('the tide turns');
    expect(await status(here)).toMatchObject({ standing: 'ACTIVE', home: null, changes: [] });
  });

  test('is at home after a crash at any change of the control directory, and the same command again', async () => {
    for (let crashAt = 1, crashed = true; crashed; crashAt += 16) {
      const { directory, root, here } = await moved(buildCodex, { era: 'old' });
      let count = 0;
      const dying = testHost(directory, 'b', {
        root,
        before: () => {
          if (++count >= crashAt) throw new Error('crash');
        },
      });
      crashed = await rehome(at(dying, root), NOTHING).then(
        () => false,
        () => true,
      );
      await rehome(here, NOTHING);
      expect(await status(here)).toMatchObject({ standing: 'ACTIVE', home: null, changes: [] });
      expect(readFileSync(join(root, 'config.toml'), 'utf8')).not.toContain(join(directory, 'a'));
    }
  });

  test('goes back to a state of before, which is at home where it was then', async () => {
    const { old, here } = await moved(buildClaudeCode);
    await rehome(here, NOTHING);
    await restore(here, { revision: 'HEAD~1', paths: [], confirm: () => Promise.resolve() });
    expect((await status(here)).home).toBe(old);
    await rehome(here, NOTHING);
    expect((await status(here)).home).toBe(null);
  });

  test('whose memory is lost beside a rehome has not declared that by it', async () => {
    const { root, here } = await moved(buildClaudeCode);
    execFileSync('rm', [join(root, 'CLAUDE.md')]);
    execFileSync('sh', ['-c', 'rm "$0"/projects/*/*.jsonl', root]);
    await rehome(here, NOTHING);
    const { lines } = await verifyBetween(here, '2..HEAD');
    expect(lines.find(({ name }) => name === 'I2 memory')).toMatchObject({
      ok: false,
      text: expect.stringContaining('MEMORY_VANISHED') as string,
    });
    expect((await status(here)).newest?.facts?.alarms.length).toBeGreaterThan(0);
  });

  test('is left as it is where a person says that it is right so', async () => {
    const { root, here } = await moved(buildCodex);
    const before = readFileSync(join(root, 'config.toml'), 'utf8');
    await rehome(here, { moved: [], skip: [], asIs: true });
    expect(readFileSync(join(root, 'config.toml'), 'utf8')).toBe(before);
    expect((await status(here)).home).toBe(null);
  });
});
