import { cpSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promote } from '../../src/actions/answer.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { close } from '../../src/actions/close.ts';
import { fence } from '../../src/actions/fence.ts';
import { init } from '../../src/actions/init.ts';
import { pack } from '../../src/actions/pack.ts';
import { resume } from '../../src/actions/resume.ts';
import { openRoot } from '../../src/actions/session/session.ts';
import { verify } from '../../src/actions/verify.ts';
import { acts, adopted, arrived, bringTo, inviteOf, nothing, type Stage } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

const sound = async (stage: Stage, root: string, host: 'a' | 'b' = 'a'): Promise<number> =>
  (await verify(at(stage[host], root), { path: null, input: nothing() })).status;
const none = (): Promise<void> => Promise.resolve();

describe('the disk fails, and the process goes on', () => {
  test.each(['packs', 'keys', 'ledger.jsonl', 'local/index'])(
    'a checkpoint that cannot write to %s changes nothing that the next one cannot finish',
    async (part) => {
      const stage = await adopted(temporary());
      writeFileSync(join(stage.home, 'private/memory/new.md'), 'new');
      const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
      const failing = testHost(stage.directory, 'a', {
        root: stage.home,
        before: (change, path) => {
          if (path.includes(`.perdure/${part}`) && ['write', 'append'].includes(change)) throw full;
        },
      });
      await checkpoint(failing).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'ENOSPC' });
      });
      expect((await checkpoint(stage.a)).complete).toBe(true);
      expect(await sound(stage, stage.home)).toBe(0);
    },
  );

  test('a fence whose records cannot all be written leaves an agent that goes on', async () => {
    const stage = await adopted(temporary());
    const invite = await inviteOf(stage.b);
    for (let at = 1; at < 8; at++) {
      let appends = 0;
      const failing = testHost(stage.directory, 'a', {
        root: stage.home,
        before: (change, path) => {
          if (change === 'append' && path.endsWith('ledger.jsonl') && ++appends === at)
            throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        },
      });
      await fence(failing, { to: { invite }, acceptNew: true, drain: 0 }).catch(() => null);
      const { state } = await openRoot(stage.a, stage.home);
      if (state.offer !== null) break;
      await resume(stage.a, {});
      writeFileSync(join(stage.home, 'private/memory/more.md'), String(at));
      await checkpoint(stage.a);
      expect(await sound(stage, stage.home)).toBe(0);
    }
    expect(await acts(stage.a, stage.home)).toBe(false);
  });
});

test('a root that is lost while a record is pending comes back by resume --here on a copy', async () => {
  const stage = await adopted(temporary());
  const copy = join(stage.directory, 'a', 'copy');
  cpSync(stage.home, copy, { recursive: true, preserveTimestamps: true });
  writeFileSync(join(stage.home, 'private/memory/new.md'), 'new');
  const dying = testHost(stage.directory, 'a', {
    root: stage.home,
    before: (change, path) => {
      if (change === 'append' && path.endsWith('ledger.jsonl')) throw new Error('crash');
    },
  });
  await expect(fence(dying, { drain: 0 })).rejects.toThrow('crash');
  rmSync(stage.home, { recursive: true });
  const there = at(stage.a, copy);
  await resume(there, { assert: 'here', reason: 'the disk died' });
  expect(await acts(stage.a, copy)).toBe(true);
  await checkpoint(there);
  expect(await sound(stage, copy)).toBe(0);
});

test('an agent whose format file is gone is not made anew', async () => {
  const stage = await adopted(temporary());
  unlinkSync(join(stage.home, '.perdure/format'));
  await expect(init(stage.a, { directory: stage.home, recovery: { kit: join(stage.directory, 'other.kit') } })).rejects.toMatchObject({
    code: 'AGENT_EXISTS',
  });
  expect(readdirSync(join(stage.home, '.perdure/packs')).length).toBeGreaterThan(0);
  writeFileSync(join(stage.home, '.perdure/format'), 'perdure 1\n');
  expect(await sound(stage, stage.home)).toBe(0);
});

test('a directory that holds an agent is not adopted as one', async () => {
  const stage = await adopted(temporary());
  await expect(init(stage.a, { directory: join(stage.directory, 'a'), recovery: null })).rejects.toMatchObject({ code: 'AGENT_EXISTS' });
  expect(existsSync(join(stage.directory, 'a', '.perdure'))).toBe(false);
});

describe('secrets that do not travel', () => {
  async function without(build: (root: string) => void = nativeAgent): Promise<Stage> {
    const stage = await adopted(temporary(), build);
    await fence(stage.a, { to: { invite: await inviteOf(stage.b) }, acceptNew: true, drain: 0 });
    await pack(stage.a, { output: stage.bundle, includeSecrets: false, write: none });
    await bringTo(stage.b, stage);
    return stage;
  }

  test('what the target supplies by hand does not stand in the way of promote, nor of the way back', async () => {
    const stage = await without();
    const there = at(stage.b, stage.away);
    mkdirSync(join(stage.away, 'private/secrets'), { recursive: true });
    writeFileSync(join(stage.away, 'private/secrets/chat.env'), 'TOKEN=of-the-target-and-longer\n', { mode: 0o640 });
    writeFileSync(join(stage.away, 'private/secrets/more.env'), 'x');
    const { reply } = await promote(there);
    await close(stage.a, Buffer.from(reply));
    writeFileSync(join(stage.away, 'private/memory/new.md'), 'new');
    await checkpoint(there);
    await fence(there, { to: { invite: await inviteOf(at(stage.a, stage.directory)) }, acceptNew: true, drain: 0 });
    await pack(there, { output: join(stage.directory, 'back.tar'), includeSecrets: false, write: none });
    await bringTo(stage.a, { bundle: join(stage.directory, 'back.tar'), away: stage.home });
    await promote(stage.a);
    expect(await acts(stage.a, stage.home)).toBe(true);
    expect(existsSync(join(stage.home, 'private/secrets/chat.env'))).toBe(true);
  });

  test('a secret that was never supplied is named by the checkpoint that first lacks it', async () => {
    const stage = await without();
    await promote(at(stage.b, stage.away));
    writeFileSync(join(stage.away, 'private/memory/new.md'), 'new');
    const { complete, facts } = await checkpoint(at(stage.b, stage.away));
    expect(complete).toBe(false);
    expect(facts.findings).toContainEqual(expect.objectContaining({ code: 'SECRET_MISSING', subject: 'private/secrets/chat.env' }));
  });

  test('a secret with two names does not stop the rehydrate', async () => {
    const stage = await without((root) => {
      nativeAgent(root);
      linkSync(join(root, 'private/secrets/chat.env'), join(root, 'private/secrets/second.env'));
    });
    expect(existsSync(join(stage.away, 'private/memory/note-0.md'))).toBe(true);
  });
});

test('a bundle whose envelopes are gone is damaged', async () => {
  const stage = await arrived(temporary());
  const nas = join(stage.directory, 'nas');
  await pack(stage.a, { output: nas, includeSecrets: false, write: none });
  const stranger = testHost(stage.directory, 'c');
  expect((await verify(stranger, { path: nas, input: nothing() })).status).toBe(0);
  const [key] = readdirSync(join(nas, 'keys'));
  unlinkSync(join(nas, 'keys', key ?? ''));
  expect((await verify(stranger, { path: nas, input: nothing() })).status).toBe(13);
});

test('a link in place of a file of a bundle is not followed', async () => {
  const stage = await arrived(temporary());
  const nas = join(stage.directory, 'nas');
  await pack(stage.a, { output: nas, includeSecrets: false, write: none });
  unlinkSync(join(nas, 'format'));
  symlinkSync('/dev/zero', join(nas, 'format'));
  await expect(verify(stage.b, { path: nas, input: nothing() })).rejects.toMatchObject({ code: 'FILE_UNREADABLE' });
});

test('the bundle again, after this host answered and did nothing else, leads on to the reply', async () => {
  const stage = await arrived(temporary());
  await promote(at(stage.b, stage.away));
  expect((await bringTo(stage.b, stage)).answered).toBe('promote');
  writeFileSync(join(stage.away, 'private/memory/new.md'), 'new');
  await checkpoint(at(stage.b, stage.away));
  await expect(bringTo(stage.b, stage)).rejects.toMatchObject({ code: 'STALE' });
});

test('a directory of many databases is cut into pages that a reader accepts', async () => {
  const stage = await adopted(temporary());
  const header = Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(8_000_000)]);
  for (let at = 0; at < 40; at++) {
    header.writeUInt32LE(at, 4000);
    writeFileSync(join(stage.home, `private/state/db-${String(at)}`), header);
  }
  for (let at = 0; at < 1200; at++) writeFileSync(join(stage.home, `private/secrets/${String(at)}.env`), String(at));
  await checkpoint(stage.a);
  expect(await sound(stage, stage.home)).toBe(0);
});

test('going to and fro keeps one older tree, and no tower of them', async () => {
  const stage = await adopted(temporary());
  let [from, to] = [at(stage.a, stage.home), at(stage.b, stage.away)];
  for (let trip = 0; trip < 5; trip++) {
    const bundle = join(stage.directory, `trip-${String(trip)}.tar`);
    await fence(from, { to: { invite: await inviteOf({ ...to, cwd: stage.directory }) }, acceptNew: true, drain: 0 });
    await pack(from, { output: bundle, includeSecrets: true, write: none });
    await bringTo(to, { bundle, away: to.start.directory });
    await close(from, Buffer.from((await promote(to)).reply));
    [from, to] = [to, from];
  }
  const old = join(stage.away, '.perdure/local/old');
  expect(existsSync(old)).toBe(true);
  expect(existsSync(join(old, '.perdure/local/old'))).toBe(false);
});
