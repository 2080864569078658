import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { decline, promote } from '../../src/actions/answer.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { close } from '../../src/actions/close.ts';
import { fence } from '../../src/actions/fence.ts';
import { init } from '../../src/actions/init.ts';
import { pack } from '../../src/actions/pack.ts';
import { resume } from '../../src/actions/resume.ts';
import { verify } from '../../src/actions/verify.ts';
import { acts, adopted, arrived, bringTo, inviteOf, nothing, offered, type Stage } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { sound, sweep, tiny } from '../support/sweep.ts';
import { listing } from '../support/tree.ts';

describe('a command that was cut at any change and is typed again', () => {
  test('init makes one agent', async () => {
    const prepare = async (directory: string): Promise<Stage> => {
      const stage = {
        directory,
        a: testHost(directory, 'a'),
        b: testHost(directory, 'b'),
        home: join(directory, 'ada'),
        away: join(directory, 'none'),
        bundle: '',
      };
      mkdirSync(stage.home);
      tiny(stage.home);
      return Promise.resolve(stage);
    };
    const points = await sweep({
      prepare,
      host: 'a',
      command: (ports, { home, directory }) =>
        init(ports, { directory: home, recovery: { kit: join(directory, 'ada.kit') }, profile: 'native' }).catch((error: unknown) => {
          // Cut behind its last step, init is done already.
          if (error instanceof Error && error.name === 'AGENT_EXISTS') return null;
          throw error;
        }),
      after: async ({ a, home, directory }) => {
        expect(await acts(a, home)).toBe(true);
        expect(existsSync(join(directory, 'ada.kit'))).toBe(true);
        await checkpoint(at(a, home));
        await sound(a, home);
      },
    });
    expect(points).toBeGreaterThan(10);
  });

  test('checkpoint records the state', async () => {
    await sweep({
      prepare: async (directory) => {
        const stage = await adopted(directory, tiny);
        writeFileSync(join(stage.home, 'private/memory/new.md'), 'new\n');
        return stage;
      },
      host: 'a',
      command: (ports) => checkpoint(ports),
      after: async ({ a, home }) => {
        expect((await checkpoint(a)).recorded).toBe(false);
        await sound(a, home);
      },
    });
  });

  test('fence ends in the offer', async () => {
    await sweep({
      prepare: (directory) => adopted(directory, tiny),
      host: 'a',
      command: async (ports, { b }) => fence(ports, { to: { invite: await inviteOf(b) }, acceptNew: true, drain: 0 }),
      after: async ({ a, home }) => {
        expect(await acts(a, home)).toBe(false);
        await sound(a, home);
      },
    });
  });

  test('pack writes a bundle that verifies', async () => {
    await sweep({
      prepare: (directory) => adopted(directory, tiny),
      host: 'a',
      command: (ports, { directory }) =>
        pack(ports, { output: join(directory, 'nas'), includeSecrets: false, write: () => Promise.resolve() }),
      after: async ({ a, directory }) => {
        expect((await verify(a, { path: join(directory, 'nas'), input: nothing() })).status).toBe(0);
      },
    });
  });

  test('rehydrate puts the whole tree in place', async () => {
    await sweep({
      prepare: (directory) => offered(directory, tiny),
      host: 'b',
      command: (ports, stage) => bringTo(ports, stage),
      after: async ({ b, home, away, directory }) => {
        expect(listing(away)).toBe(listing(home));
        expect((await import('node:fs')).readdirSync(join(directory, 'b'))).toEqual(['ada']);
        await sound(b, away);
      },
    });
  });

  test('promote takes over once, with one reply', async () => {
    await sweep({
      prepare: (directory) => arrived(directory, tiny),
      host: 'b',
      command: (ports, { away }) => promote(at(ports, away)),
      after: async ({ b, away }) => {
        expect(await acts(b, away)).toBe(true);
        expect((await promote(at(b, away))).reply).toBe((await promote(at(b, away))).reply);
        await sound(b, away);
      },
    });
  });

  test('close brings the answer home', async () => {
    await sweep({
      prepare: async (directory) => {
        const stage = await arrived(directory, tiny);
        return { ...stage, bundle: (await decline(at(stage.b, stage.away))).reply };
      },
      host: 'a',
      command: (ports, { bundle }) => close(ports, Buffer.from(bundle)),
      after: async ({ a, home }) => {
        expect(await acts(a, home)).toBe(true);
        await sound(a, home);
      },
    });
  });

  test('resume lets it act again', async () => {
    await sweep({
      prepare: async (directory) => {
        const stage = await adopted(directory, tiny);
        await fence(stage.a, { drain: 0 });
        return stage;
      },
      host: 'a',
      command: (ports) => resume(ports, {}),
      after: async ({ a, home }) => {
        expect(await acts(a, home)).toBe(true);
      },
    });
  });
});
