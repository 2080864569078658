import { spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { has } from '../support/tools.ts';

describe('users keep an agent for years, with the real tools', () => {
  test.runIf(has('git', 'tar', 'od', 'base64')).each(['carry', 'stock-tools', 'recover', 'restore', 'keys', 'descend', 'cron'])(
    '%s',
    (story) => {
      const done = spawnSync('sh', [`test/acceptance/${story}.sh`], { stdio: ['ignore', 'pipe', 'pipe'] });
      expect(done.status, done.stderr.toString()).toBe(0);
      expect(done.stderr.toString()).toContain('-- ok');
    },
  );

  test.runIf(has('fusefat', 'mkfs.vfat'))('stick, on a real FAT', (context) => {
    const done = spawnSync('sh', ['test/acceptance/stick.sh'], { stdio: ['ignore', 'pipe', 'pipe'] });
    if (done.status === 77) context.skip();
    expect(done.status, done.stderr.toString()).toBe(0);
  });
});
