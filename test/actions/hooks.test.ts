import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { allowProfile } from '../../src/actions/hooks.ts';
import { init } from '../../src/actions/init.ts';
import { pack } from '../../src/actions/pack.ts';
import { resume } from '../../src/actions/resume.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { status } from '../../src/actions/status.ts';
import { loadProfile } from '../../src/profile/built-in.ts';
import { compileProfile } from '../../src/profile/profile.ts';
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

describe('units of systemd that start the agent (its program is a stand-in here, which keeps what it is told in files)', () => {
  async function withUnit(): Promise<{ readonly a: Ports; readonly directory: string; readonly states: () => string }> {
    const directory = temporary();
    const home = join(directory, 'a', 'ada');
    const units = join(directory, 'a', '.config/systemd/user');
    mkdirSync(home, { recursive: true });
    mkdirSync(units, { recursive: true });
    nativeAgent(home);
    writeFileSync(join(units, 'ada-gateway.service'), '[Service]\n');
    const bin = join(directory, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'enabled'), 'ada-gateway.service\n');
    writeFileSync(
      join(bin, 'systemctl'),
      `#!/bin/sh
shift; on='${join(bin, 'enabled')}'
case $1 in
is-enabled) grep -qx "$2" "$on" && echo enabled || { echo disabled; exit 1; } ;;
is-active) grep -qx "$2" "$on" && echo active || { echo inactive; exit 3; } ;;
disable) [ -e '${join(bin, 'stuck')}' ] || { grep -vx "$3" "$on" >"$on.new" || :; mv "$on.new" "$on"; } ;;
enable) echo "$3" >>"$on" ;;
esac
`,
      { mode: 0o755 },
    );
    const { PATH } = process.env;
    process.env['PATH'] = `${bin}:${PATH ?? ''}`;
    onTestFinished(() => {
      process.env['PATH'] = PATH;
    });
    const a = testHost(directory, 'a', { root: home });
    const data = {
      ...(await loadProfile('native')).data,
      name: 'own',
      outside: [{ path: '~/.config/systemd/user/ada-*.service', class: 'host', about: 'the unit' }],
    };
    await init(a, { directory: home, recovery: null, profile: compileProfile(data) });
    await checkpoint(a);
    return { a, directory, states: () => readFileSync(join(bin, 'enabled'), 'utf8').trim() };
  }

  test('are disabled by a fence and enabled again by a resume, where the host allowed that', async () => {
    const { a, states } = await withUnit();
    expect((await fence(a, { drain: 0 })).units).toMatchObject({
      disabled: [],
      left: [expect.stringContaining('ada-gateway.service') as string],
    });
    await resume(a, {});
    await allowProfile(a);
    expect((await fence(a, { drain: 0 })).units).toEqual({ disabled: ['ada-gateway.service'], left: [] });
    expect(states()).toBe('');
    expect((await resume(a, {})).units).toEqual(['ada-gateway.service']);
    expect(states()).toBe('ada-gateway.service');
  });

  test('make the fence refuse where they start it still', async () => {
    const { a, directory } = await withUnit();
    await allowProfile(a);
    writeFileSync(join(directory, 'bin/stuck'), '');
    await expect(fence(a, { drain: 0 })).rejects.toMatchObject({ code: 'COMMAND_FAILED' });
    expect((await status(a)).standing).toBe('ACTIVE');
  });
});
