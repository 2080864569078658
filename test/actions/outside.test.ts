import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { afterMove } from '../../src/actions/after-move.ts';
import { promote } from '../../src/actions/answer.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { pack } from '../../src/actions/pack.ts';
import { planRehome, rehome } from '../../src/actions/rehome.ts';
import { outsideOf } from '../../src/actions/session/outside.ts';
import { namedProfile } from '../../src/actions/session/profiles.ts';
import { show } from '../../src/actions/show.ts';
import { status } from '../../src/actions/status.ts';
import { bringTo, inviteOf } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { buildClaudeCode } from '../support/layouts/claude-code.ts';
import { buildOpenclaw } from '../support/layouts/openclaw.ts';
import { NOTHING, moved, query } from '../support/moved.ts';
import { has } from '../support/tools.ts';

describe.runIf(has('sqlite3'))('an agent that moved', () => {
  test('takes along what lies outside of its root, and writes over nothing in its new place', async () => {
    const { directory, here, home } = await moved((root, options) => {
      buildClaudeCode(root, options);
      writeFileSync(join(options.home, '.claude.json'), JSON.stringify({ projects: { [`${options.home}/project`]: { trusted: true } } }));
    });
    const place = join(directory, 'b', '.claude.json');
    expect(existsSync(place)).toBe(false);
    // A checkpoint before it is at home does not lose what is not in place yet.
    writeFileSync(join(directory, 'b', 'moved', '.agent', 'CLAUDE.md'), 'be kind\n');
    expect((await checkpoint(here)).facts.roots.map(({ name }) => name)).toEqual(['main', '~/.claude.json']);
    expect((await planRehome(here, NOTHING)).outside).toEqual([{ name: '~/.claude.json', path: place, how: 'placed' }]);
    expect((await rehome(here, NOTHING)).outside).toEqual([{ name: '~/.claude.json', path: place, how: 'placed' }]);
    expect(JSON.parse(readFileSync(place, 'utf8'))).toEqual({ projects: { [join(directory, 'b', 'project')]: { trusted: true } } });
    expect(home).not.toBe(join(directory, 'b'));
    expect((await checkpoint(here)).recorded).toBe(false);
    writeFileSync(place, '{"changed":true}');
    expect((await checkpoint(here)).recorded).toBe(true);
    execFileSync('rm', [place]);
    expect((await checkpoint(here)).newAlarms).toMatchObject([{ code: 'MEMORY_VANISHED', subject: '~/.claude.json' }]);
  });

  test('takes along a workspace that its own configuration names, but for credentials, and leaves what is in its place', async () => {
    const { directory, here } = await moved(
      (root, options) => {
        buildOpenclaw(root, options);
        const workspace = join(options.home, 'elsewhere');
        mkdirSync(join(workspace, 'memory'), { recursive: true });
        writeFileSync(join(workspace, 'memory/2026-08-01.md'), 'met the harbour master\n');
        writeFileSync(join(workspace, '.env'), 'KEY=canary-3f9a1c\n');
        execFileSync('sqlite3', [join(workspace, 'notes.db'), 'CREATE TABLE t(x); INSERT INTO t VALUES(1)']);
        writeFileSync(join(root, 'openclaw.json'), `{ agents: { defaults: { workspace: '${workspace}', }, }, } // mine`);
      },
      { era: 'old' },
    );
    const place = join(directory, 'b', 'elsewhere');
    mkdirSync(place);
    writeFileSync(join(place, 'mine.md'), 'of another\n');
    const done = await rehome(here, NOTHING);
    expect(done.outside).toEqual([{ name: '~/elsewhere/', path: `${place}.perdure-came`, how: 'beside' }]);
    expect(readdirSync(place)).toEqual(['mine.md']);
    expect(readFileSync(`${place}.perdure-came/memory/2026-08-01.md`, 'utf8')).toContain('harbour master');
    expect(query(`${place}.perdure-came/notes.db`, 'PRAGMA integrity_check')).toBe('ok');
    expect(existsSync(`${place}.perdure-came/.env`)).toBe(false);
  });

  test('comes beside a link, too, and stays recorded until a person has compared the two', async () => {
    const { directory, here } = await moved((root, options) => {
      buildClaudeCode(root, options);
      writeFileSync(join(options.home, '.claude.json'), '{}');
    });
    const place = join(directory, 'b', '.claude.json');
    writeFileSync(join(directory, 'b', 'dot.json'), '{"mine":1}');
    symlinkSync('dot.json', place);
    expect((await rehome(here, NOTHING)).outside).toEqual([{ name: '~/.claude.json', path: `${place}.perdure-came`, how: 'beside' }]);
    expect(readFileSync(join(directory, 'b', 'dot.json'), 'utf8')).toBe('{"mine":1}');
    expect((await checkpoint(here)).facts.findings.map(({ code }) => code)).toEqual(['OUTSIDE_UNMERGED']);
    expect((await show(here, 'HEAD:~/.claude.json')).kind).toBe('file');
    expect((await afterMove(here)).find(({ name }) => name === 'outside')).toMatchObject({
      ok: false,
      text: expect.stringContaining('.perdure-came') as string,
    });
  });

  /** An OpenClaw whose workspace lies beside its directory, in the old home. */
  const withWorkspace: Parameters<typeof moved>[0] = (root, options) => {
    buildOpenclaw(root, options);
    const workspace = join(options.home, 'ws');
    mkdirSync(join(workspace, 'memory'), { recursive: true });
    writeFileSync(join(workspace, 'MEMORY.md'), 'the harbour closes at six\n');
    writeFileSync(join(workspace, 'memory/2026-08-01.md'), 'met the harbour master\n');
    writeFileSync(join(root, 'openclaw.json'), `{ agents: { defaults: { workspace: '${workspace}' } } }`);
  };

  test('misses memory that is lost outside as it does within, and gives it back', async () => {
    const { directory, here } = await moved(withWorkspace, { era: 'old' });
    await rehome(here, NOTHING);
    const memory = join(directory, 'b', 'ws', 'MEMORY.md');
    execFileSync('rm', [memory]);
    expect((await status(here)).changes).toEqual([{ kind: 'removed', path: '~/ws/MEMORY.md' }]);
    const lost = await checkpoint(here);
    expect(lost.newAlarms).toMatchObject([{ code: 'MEMORY_VANISHED', subject: '~/ws/MEMORY.md' }]);
    const shown = await show(here, 'HEAD~1:~/ws/MEMORY.md');
    const parts: Buffer[] = [];
    if (shown.kind === 'file') for await (const part of shown.content) parts.push(part);
    expect(Buffer.concat(parts).toString()).toBe('the harbour closes at six\n');
    writeFileSync(memory, Buffer.concat(parts));
    expect((await checkpoint(here)).facts.alarms).toEqual([]);
    execFileSync('rm', ['-r', join(directory, 'b', 'ws')]);
    expect((await afterMove(here)).find(({ name }) => name === 'outside')?.ok).toBe(false);
  });

  test('that goes back replaces what it had left there, and comes beside what somebody changed since', async () => {
    for (const isChanged of [false, true]) {
      const { directory, home, here } = await moved(withWorkspace, { era: 'old' });
      await rehome(here, NOTHING);
      writeFileSync(join(directory, 'b', 'ws', 'memory/2026-08-02.md'), 'sailed\n');
      await checkpoint(here);
      if (isChanged) writeFileSync(join(home, 'ws', 'mine.md'), 'mine\n');
      const a = testHost(directory, 'a', { root: home });
      await fence(here, { to: { invite: await inviteOf(a) }, acceptNew: true, drain: 0 });
      await pack(here, { output: join(directory, 'back.tar'), includeSecrets: true, write: () => Promise.resolve() });
      await bringTo(a, { bundle: join(directory, 'back.tar'), away: join(home, '.agent') });
      const back = at(a, join(home, '.agent'));
      await promote(back);
      const { outside } = await rehome(back, NOTHING);
      const workspace = join(home, 'ws');
      const came = isChanged ? `${workspace}.perdure-came` : workspace;
      expect(outside).toEqual([{ name: '~/ws/', path: came, how: isChanged ? 'beside' : 'replaced' }]);
      expect(readFileSync(join(came, 'memory/2026-08-02.md'), 'utf8')).toBe('sailed\n');
      expect(existsSync(join(workspace, 'mine.md'))).toBe(isChanged);
      // What came stays what is recorded, until a person has compared the two.
      const after = await checkpoint(back);
      expect([after.complete, after.facts.alarms]).toEqual([!isChanged, []]);
      expect(after.facts.findings.map(({ code }) => code)).toEqual(isChanged ? ['OUTSIDE_UNMERGED'] : []);
      expect((await show(back, 'HEAD:~/ws/memory/2026-08-02.md')).kind).toBe('file');
      expect((await afterMove(back)).find(({ name }) => name === 'outside')?.ok).toBe(!isChanged);
    }
  });

  test('writes over nothing that has the name of what came, and goes where the config says', async () => {
    const { directory, here } = await moved(withWorkspace, { era: 'old' });
    const place = join(directory, 'b', 'ws');
    mkdirSync(place);
    writeFileSync(join(place, 'own.md'), 'own\n');
    mkdirSync(`${place}.perdure-came`);
    writeFileSync(join(`${place}.perdure-came`, 'precious.md'), 'precious\n');
    expect((await rehome(here, NOTHING)).outside).toMatchObject([{ path: `${place}.perdure-came-2`, how: 'beside' }]);
    expect(readFileSync(join(`${place}.perdure-came`, 'precious.md'), 'utf8')).toBe('precious\n');

    const other = await moved(withWorkspace, { era: 'old' });
    const file = join(other.directory, 'file');
    writeFileSync(file, 'f');
    const to = (path: string): Parameters<typeof rehome>[1] => ({ ...NOTHING, moved: [{ from: join(other.home, 'ws'), to: path }] });
    await expect(rehome(other.here, to(join(file, 'ws')))).rejects.toMatchObject({ code: 'REHOME_STUCK' });
    const elsewhere = join(other.directory, 'srv', 'ws');
    expect((await rehome(other.here, to(elsewhere))).outside).toEqual([{ name: '~/ws/', path: elsewhere, how: 'placed' }]);
    expect(readFileSync(join(other.root, 'openclaw.json'), 'utf8')).toContain(elsewhere);
    expect((await checkpoint(other.here)).complete).toBe(true);
  });

  test('takes along the parts that its configuration includes, from anywhere in it, and directories of its agents', async () => {
    const { directory, here } = await moved(
      (root, options) => {
        buildOpenclaw(root, options);
        const agents = join(options.home, 'agents', 'main');
        for (const path of [agents, join(options.home, 'parts'), join(root, 'parts')]) mkdirSync(path, { recursive: true });
        writeFileSync(join(agents, 'openclaw-agent.sqlite'), '');
        execFileSync('sqlite3', [join(agents, 'openclaw-agent.sqlite'), 'CREATE TABLE transcript_events(event_json TEXT)']);
        writeFileSync(join(agents, 'auth-profiles.json'), '{"key":"canary-8d1f"}\n');
        for (const path of ['parts/models.json5', 'channels.json5', '.agent/parts/own.json5'])
          writeFileSync(join(options.home, path), '{}\n');
        writeFileSync(
          join(root, 'openclaw.json'),
          `{ $include: ['./parts/own.json5', '${options.home}/parts/models.json5'], channels: { $include: '../channels.json5' },
             agents: { entries: { main: { agentDir: '~/agents/main' } } } }`,
        );
      },
      { era: 'old' },
    );
    const { outside } = await rehome(here, NOTHING);
    const there = join(directory, 'b');
    expect(outside).toEqual([
      { name: '~/agents/main/', path: join(there, 'agents/main'), how: 'placed' },
      { name: '~/channels.json5', path: join(there, 'channels.json5'), how: 'placed' },
      { name: '~/parts/models.json5', path: join(there, 'parts/models.json5'), how: 'placed' },
    ]);
    expect(readdirSync(join(there, 'agents/main'))).toEqual(['openclaw-agent.sqlite']);
  });

  test('takes nothing of the system or of this program along, whatever its configuration says', async () => {
    const { here, root } = await moved(withWorkspace, { era: 'old' });
    await rehome(here, NOTHING);
    for (const path of ['/', '/etc', '/proc', here.hostDirectory, join(here.hostDirectory, '..'), here.home, 'x/'.repeat(3000)]) {
      writeFileSync(join(root, 'openclaw.json'), `{ agents: { defaults: { workspace: '${path}' } } }`);
      expect((await outsideOf(here, root, await namedProfile(here, 'openclaw'))).filter((one) => one.captured)).toEqual([]);
    }
  });
});
