import { expect, test } from 'vitest';
import { isOnPath, runCommand } from '../../src/providers/commands.ts';

test('a command that does not end is ended, with all that it started', async () => {
  // What the shell waits for holds its output open.
  const done = await runCommand(['sh', '-c', 'echo begun; sleep 600; echo ended'], { cwd: '/', limit: 300 });
  expect(done).toEqual({ status: 128, output: 'it did not end within 0.3 s' });
});

test('a command that is not there, or names no program, is no exception', async () => {
  expect(await runCommand(['no such program'], { cwd: '/', limit: 10_000 })).toMatchObject({
    status: 128,
    output: expect.stringContaining('ENOENT') as string,
  });
  expect((await runCommand([''], { cwd: '/', limit: 10_000 })).status).toBe(128);
  expect(await runCommand(['sh', '-c', 'echo one; echo two >&2; exit 3'], { cwd: '/', limit: 10_000 })).toEqual({
    status: 3,
    output: 'one\ntwo',
  });
});

test('a program is on a PATH where a directory of it has one that runs', () => {
  expect([isOnPath('sh', '/nowhere:/bin'), isOnPath('sh', ''), isOnPath('sh', undefined), isOnPath('passwd', '/etc')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});
