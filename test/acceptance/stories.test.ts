import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { has } from '../support/tools.ts';

describe('users script a move, with the real tools', () => {
  test.runIf(has('git', 'tar', 'od', 'base64')).each(['move', 'line', 'copies', 'guard', 'damage', 'cut', 'bulk'])('%s', (story) => {
    const done = spawnSync('sh', [`test/acceptance/${story}.sh`], { stdio: ['ignore', 'pipe', 'pipe'] });
    expect(done.status, done.stderr.toString()).toBe(0);
    expect(done.stderr.toString()).toContain('-- ok');
  });
});

describe('an agent of another layout moves while its databases are written', () => {
  test.runIf(has('git', 'od', 'base64', 'sqlite3'))('agents', () => {
    const done = spawnSync('sh', ['test/acceptance/agents.sh'], { stdio: ['ignore', 'pipe', 'pipe'] });
    expect(done.status, done.stderr.toString()).toBe(0);
    expect(done.stderr.toString()).toContain('-- ok');
  });
});
