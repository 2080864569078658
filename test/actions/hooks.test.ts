import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { allowProfile } from '../../src/actions/hooks.ts';
import { init } from '../../src/actions/init.ts';
import { pack } from '../../src/actions/pack.ts';
import { resume } from '../../src/actions/resume.ts';
import { explain } from '../../src/actions/explain.ts';
import { bringTo, inviteOf } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

/** An agent with a profile of its own, whose commands leave a mark. */
async function withCommands(
  stop: readonly (readonly string[])[],
): Promise<{ readonly directory: string; readonly home: string; readonly a: ReturnType<typeof testHost> }> {
  const directory = temporary();
  const home = join(directory, 'a', 'ada');
  mkdirSync(home, { recursive: true });
  nativeAgent(home);
  const native = JSON.parse(readFileSync('src/profile/native.json', 'utf8')) as object;
  writeFileSync(
    join(directory, 'own.json'),
    JSON.stringify({ ...native, name: 'own', stop, start: [['sh', '-c', 'echo started >>../log']] }),
  );
  const a = testHost(directory, 'a', { root: home });
  await init(a, { directory: home, recovery: null, profile: join(directory, 'own.json') });
  await checkpoint(a);
  return { directory, home, a };
}

test("a profile's commands run only after this host allowed exactly that profile", async () => {
  const { directory, a } = await withCommands([['sh', '-c', 'echo stopped >>../log']]);
  const log = join(directory, 'a', 'log');
  expect((await fence(a, { drain: 0 })).hooks).toBe('not-allowed');
  expect((await resume(a, {})).hooks).toBe('not-allowed');
  expect(existsSync(log)).toBe(false);
  await allowProfile(a);
  expect((await fence(a, { drain: 0 })).hooks).toBe('run');
  expect((await resume(a, {})).hooks).toBe('run');
  expect(readFileSync(log, 'utf8')).toBe('stopped\nstarted\n');
});

test('a stop command that fails makes the fence refuse, and the agent resumes by itself', async () => {
  const { a, home } = await withCommands([['false']]);
  await allowProfile(a);
  await expect(fence(a, { drain: 0 })).rejects.toMatchObject({ code: 'COMMAND_FAILED' });
  const { acts } = await import('../support/agent.ts');
  expect(await acts(a, home)).toBe(true);
});

test('a profile of its own travels with the agent, and its commands are not allowed on the target', async () => {
  const { directory, a } = await withCommands([['sh', '-c', 'echo stopped >>../log']]);
  await allowProfile(a);
  mkdirSync(join(directory, 'b'));
  const b = testHost(directory, 'b', { root: join(directory, 'b') });
  await fence(a, { to: { invite: await inviteOf(b) }, acceptNew: true, drain: 0 });
  await pack(a, { output: join(directory, 'ada.tar'), includeSecrets: true, write: () => Promise.resolve() });
  const away = join(directory, 'b', 'ada');
  await bringTo(b, { bundle: join(directory, 'ada.tar'), away });
  const { promote } = await import('../../src/actions/answer.ts');
  await promote(at(b, away));
  expect((await explain(at(b, away), join(away, 'private/self.json'))).profile).toBe('own');
  expect((await fence(at(b, away), { drain: 0 })).hooks).toBe('not-allowed');
  expect(existsSync(join(directory, 'b', 'log'))).toBe(false);
});
