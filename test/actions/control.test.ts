import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { promote } from '../../src/actions/answer.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { init } from '../../src/actions/init.ts';
import { pack } from '../../src/actions/pack.ts';
import { rehydrate } from '../../src/actions/rehydrate.ts';
import { restore } from '../../src/actions/restore.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { openSession } from '../../src/actions/session/session.ts';
import { verify } from '../../src/actions/verify.ts';
import { acts, bringTo, inviteOf, nothing } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

const status = async (ports: Ports, path: string | null = null): Promise<number> =>
  (await verify(ports, { path, input: nothing() })).status;

test('a control directory elsewhere: recorded, verified, restored, moved away and home again', async () => {
  const directory = temporary();
  const home = join(directory, 'ada');
  const control = join(directory, 'control', 'ada');
  mkdirSync(home);
  nativeAgent(home);
  const a = testHost(directory, 'a', { root: home });
  const b = testHost(directory, 'b', { root: directory });
  await expect(init(a, { directory: home, recovery: null, control: join(home, 'x') })).rejects.toMatchObject({ code: 'USAGE_WRONG' });
  mkdirSync(join(directory, 'full'));
  writeFileSync(join(directory, 'full/x'), 'mine');
  await expect(init(a, { directory: home, recovery: null, control: join(directory, 'full') })).rejects.toMatchObject({
    code: 'TARGET_OCCUPIED',
  });
  await init(a, { directory: home, recovery: null, control, profile: 'native' });
  expect(statSync(join(home, '.perdure')).isFile()).toBe(true);
  await expect(init(a, { directory: home, recovery: null })).rejects.toMatchObject({ code: 'AGENT_EXISTS' });
  await expect(init(a, { directory: join(home, 'body/x'), recovery: null })).rejects.toMatchObject({ code: 'AGENT_EXISTS' });
  await checkpoint(a);
  writeFileSync(join(home, 'private/memory/note-1.md'), 'newer\n');
  await checkpoint(a);
  expect([await status(a), await status(b, home)]).toEqual([0, 12]);
  await restore(a, { revision: '2', paths: [], confirm: () => Promise.resolve() });
  expect(readFileSync(join(home, 'private/memory/note-1.md'), 'utf8')).toBe('note 1\n');
  expect(readdirSync(directory).filter((name) => name.includes('perdure'))).toEqual([]);

  cpSync(home, join(directory, 'copy'), { recursive: true });
  expect([await acts(a, join(directory, 'copy')), await acts(a, home)]).toEqual([false, true]);

  renameSync(join(directory, 'control'), join(directory, 'unmounted'));
  await expect(openSession(a)).rejects.toMatchObject({ code: 'AGENT_MISSING' });
  renameSync(join(directory, 'unmounted'), join(directory, 'control'));

  const away = join(directory, 'b', 'ada');
  const bundle = join(directory, 'ada.tar');
  await fence(a, { to: { invite: await inviteOf(b) }, acceptNew: true, drain: 0 });
  await pack(a, { output: bundle, includeSecrets: true, write: () => Promise.resolve() });
  await bringTo(b, { bundle, away });
  const { reply } = await promote(at(b, away));
  const { close } = await import('../../src/actions/close.ts');
  await close(a, Buffer.from(reply));
  await fence(at(b, away), { to: { invite: await inviteOf(a) }, acceptNew: true, drain: 0 });
  await pack(at(b, away), { output: join(directory, 'back.tar'), includeSecrets: true, write: () => Promise.resolve() });
  await rehydrate(a, { bundles: [join(directory, 'back.tar')], directory: home, dryRun: false, input: nothing() });
  await promote(a);
  expect(await acts(a, home)).toBe(true);
  expect(await status(a)).toBe(0);
});
