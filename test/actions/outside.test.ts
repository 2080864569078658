import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { planRehome, rehome } from '../../src/actions/rehome.ts';
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
});
