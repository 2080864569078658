import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkKey } from '../../src/actions/check-key.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { closeByBundle } from '../../src/actions/close.ts';
import { openCustodian, type Custodian } from '../../src/actions/custodian/custodian.ts';
import { custodyChange } from '../../src/actions/custody.ts';
import { descend } from '../../src/actions/descend.ts';
import { gc } from '../../src/actions/gc.ts';
import { addReader, removeReader } from '../../src/actions/keys.ts';
import { pack } from '../../src/actions/pack.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { recover } from '../../src/actions/recover.ts';
import { restore } from '../../src/actions/restore.ts';
import { revoke } from '../../src/actions/revoke.ts';
import { generateAgeKey } from '../../src/store/age.ts';
import { acts, adopted, nothing, offered, type Stage } from '../support/agent.ts';
import { at } from '../support/host.ts';
import { sound, sweep, tiny } from '../support/sweep.ts';
import { listing } from '../support/tree.ts';

const kitOf = async (ports: Ports, { directory }: Stage, name = 'ada.kit'): Promise<Custodian> => {
  const custodian = await openCustodian(ports, { kit: join(directory, name) });
  if (custodian === null) throw new Error('no kit');
  return custodian;
};
const yes = (): Promise<string> => Promise.resolve('it is so');
const carry = (ports: Ports, output: string): ReturnType<typeof pack> =>
  pack(ports, { output, includeSecrets: false, write: () => Promise.resolve() });

async function grown(directory: string): Promise<Stage> {
  const stage = await adopted(directory, tiny);
  for (const text of ['one\n', 'two\n', 'three\n']) {
    writeFileSync(join(stage.home, 'private/memory/note.md'), text);
    await checkpoint(stage.a);
  }
  return stage;
}

/** A backup is left, and host a is gone. */
async function lost(directory: string): Promise<Stage> {
  const stage = await grown(directory);
  await carry(stage.a, join(directory, 'nas'));
  renameSync(join(directory, 'a'), join(directory, 'gone'));
  return stage;
}

const recoverTo = async (ports: Ports, stage: Stage): ReturnType<typeof recover> =>
  recover(ports, {
    bundles: [join(stage.directory, 'nas')],
    input: nothing(),
    directory: stage.away,
    custodian: await kitOf(ports, stage),
    confirm: yes,
  });

describe('a command that was cut at any change and is typed again', () => {
  test('recover brings the agent back once', async () => {
    await sweep({
      prepare: lost,
      stride: 8,
      host: 'b',
      command: recoverTo,
      after: async ({ b, away }) => {
        expect(await acts(b, away)).toBe(true);
        expect(readFileSync(join(away, 'private/secrets/chat.env'), 'utf8')).toContain('canary');
        await sound(b, away);
        await checkpoint(at(b, away));
        await sound(b, away);
      },
    });
  });

  test('revoke takes the offer back', async () => {
    await sweep({
      prepare: (directory) => offered(directory, tiny),
      host: 'a',
      command: async (ports, stage) =>
        revoke(ports, { custodian: await kitOf(ports, stage), confirm: yes }).catch((error: unknown) => {
          // Cut behind its last step, it is taken back already.
          if (error instanceof Error && error.name === 'OFFER_MISSING') return null;
          throw error;
        }),
      after: async ({ a, home }) => {
        expect(await acts(a, home)).toBe(true);
        await sound(a, home);
      },
    });
  });

  test('a reader is removed, and the key is new', async () => {
    const { recipient, identity } = await generateAgeKey();
    await sweep({
      prepare: async (directory) => {
        const stage = await adopted(directory, tiny);
        await addReader(stage.a, recipient, { custodian: undefined });
        return stage;
      },
      host: 'a',
      command: (ports) =>
        removeReader(ports, recipient, { custodian: undefined }).catch((error: unknown) => {
          if (error instanceof Error && error.name === 'HOST_UNKNOWN') return null;
          throw error;
        }),
      after: async ({ a, home, directory }) => {
        writeFileSync(join(home, 'private/memory/note.md'), 'later\n');
        await checkpoint(a);
        await sound(a, home);
        writeFileSync(join(directory, 'reader'), identity);
        const opened = checkKey(a, { path: null, input: nothing(), key: { identity: join(directory, 'reader') } });
        await expect(opened).rejects.toMatchObject({ code: 'KEY_UNFIT' });
      },
    });
  });

  test('the kit is replaced', async () => {
    await sweep({
      prepare: (directory) => adopted(directory, tiny),
      host: 'a',
      command: (ports, { directory }) =>
        custodyChange(ports, { old: { kit: join(directory, 'ada.kit') }, to: { kit: join(directory, 'new.kit') } }).catch(
          (error: unknown) => {
            // Cut behind its last step, the old kit signs nothing any more.
            if (error instanceof Error && error.name === 'KIT_UNFIT') return null;
            throw error;
          },
        ),
      after: async ({ a, home, directory }) => {
        await checkpoint(a);
        await sound(a, home);
        expect((await checkKey(a, { path: null, input: nothing(), key: { kit: join(directory, 'new.kit') } })).secrets).toBe(true);
      },
    });
  });

  test('restore puts the tree back', async () => {
    await sweep({
      prepare: grown,
      stride: 4,
      host: 'a',
      command: (ports) => restore(ports, { revision: '3', paths: [], confirm: () => Promise.resolve() }),
      after: async ({ a, home }) => {
        expect(readFileSync(join(home, 'private/memory/note.md'), 'utf8')).toBe('one\n');
        expect((await checkpoint(a)).recorded).toBe(false);
        await sound(a, home);
      },
    });
  });

  test('gc gives up, folds and frees', async () => {
    await sweep({
      prepare: grown,
      host: 'a',
      command: (ports) => gc(ports, { keep: { last: 2 }, grace: 0, dryRun: false }),
      after: async ({ a, home }) => {
        await sound(a, home);
        expect((await gc(a, { keep: { last: 2 }, grace: 0, dryRun: false })).kept).toBe(2);
        await sound(a, home);
      },
    });
  });

  test('a bundle with a newer ledger is brought home', async () => {
    await sweep({
      prepare: async (directory) => {
        const stage = await lost(directory);
        await recoverTo(stage.b, stage);
        await carry(at(stage.b, stage.away), join(directory, 'newer'));
        renameSync(join(directory, 'gone'), join(directory, 'a'));
        // Host a is back, and has not heard of it; b stays off, so that one acts at most.
        renameSync(join(directory, 'b'), join(directory, 'off'));
        return stage;
      },
      host: 'a',
      command: (ports, { directory }) => closeByBundle(ports, { path: join(directory, 'newer'), input: nothing() }),
      after: async ({ a, home, directory }) => {
        expect(await acts(a, home)).toBe(false);
        expect(existsSync(join(directory, 'a'))).toBe(true);
      },
    });
  });

  test('descend makes one new agent', async () => {
    await sweep({
      prepare: (directory) => adopted(directory, tiny),
      host: 'a',
      command: (ports, { directory }) => descend(ports, { directory: join(directory, 'bea'), classes: [], recovery: null, proof: false }),
      // Most of its changes are those of init, which has a sweep of its own.
      stride: 3,
      after: async ({ a, home, directory }) => {
        await sound(a, home);
        expect(listing(join(directory, 'bea'))).toContain('private/self.json');
        expect(await acts(a, join(directory, 'bea'))).toBe(true);
        await checkpoint(at(a, join(directory, 'bea')));
        await sound(a, join(directory, 'bea'));
      },
    });
  });
});
