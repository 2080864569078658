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
