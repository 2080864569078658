import { cpSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promote } from '../../src/actions/answer.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { closeByBundle } from '../../src/actions/close.ts';
import { openCustodian } from '../../src/actions/custodian/custodian.ts';
import { custodyChange } from '../../src/actions/custody.ts';
import { fence } from '../../src/actions/fence.ts';
import { gc, pruneBundle } from '../../src/actions/gc.ts';
import { guard } from '../../src/actions/guard.ts';
import { addPassphrase, addReader, removeReader, rotateKeys } from '../../src/actions/keys.ts';
import { pack } from '../../src/actions/pack.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { recover } from '../../src/actions/recover.ts';
import { restore } from '../../src/actions/restore.ts';
import { openRoot } from '../../src/actions/session/session.ts';
import { show } from '../../src/actions/show.ts';
import { verify } from '../../src/actions/verify.ts';
import type { Digest } from '../../src/core/digest.ts';
import type { AgentError } from '../../src/core/errors.ts';
import type { GcRecord } from '../../src/ledger/record.ts';
import { reduce } from '../../src/ledger/reduce.ts';
import { rehydrate } from '../../src/actions/rehydrate.ts';
import { generateAgeKey } from '../../src/store/age.ts';
import { acts, adopted, arrived, inviteOf, nothing, type Stage } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { temporary } from '../support/tree.ts';

const none = { custodian: undefined };
const keepAll = { keep: {}, grace: 0, dryRun: false };
const carry = (ports: Ports, output: string, options: Partial<Parameters<typeof pack>[1]> = {}): ReturnType<typeof pack> =>
  pack(ports, { output, includeSecrets: false, write: () => Promise.resolve(), ...options });
const status = async (ports: Ports, path: string | null = null): Promise<number> =>
  (await verify(ports, { path, input: nothing() })).status;

async function recoverWith(
  ports: Ports,
  kit: string,
  { from, to }: { readonly from: string; readonly to: string },
): ReturnType<typeof recover> {
  const custodian = await openCustodian(ports, { kit });
  if (custodian === null) throw new Error('no kit');
  return recover(ports, {
    bundles: [from],
    input: nothing(),
    directory: to,
    custodian,
    confirm: () => Promise.resolve('why'),
  });
}

async function change(stage: Stage, text: string): Promise<void> {
  writeFileSync(join(stage.home, 'private/memory/note-1.md'), text);
  await checkpoint(stage.a);
}

describe('a recovery key that was replaced', () => {
  test('outranks nothing, nor does a key by which the thief replaces it in an old copy', async () => {
    const directory = temporary();
    const stage = await adopted(directory);
    const old = join(directory, 'ada.kit');
    await carry(stage.a, join(directory, 'had'));
    await custodyChange(stage.a, { old: { kit: old }, to: { kit: join(directory, 'new.kit') } });
    await change(stage, 'after the replacement\n');
    const thief = testHost(directory, 'thief', { root: join(directory, 't') });
    const taken = join(directory, 't', 'ada');
    await recoverWith(thief, old, { from: join(directory, 'had'), to: taken });
    const there = at(thief, taken);
    await custodyChange(there, { old: { kit: old }, to: { kit: join(directory, 'thief.kit') } });
    await checkpoint(there);
    await carry(there, join(directory, 't.tar'));
    renameSync(join(directory, 't'), join(directory, 'moved'));
    const again = testHost(directory, 'thief2', { root: directory });
    await recoverWith(again, join(directory, 'thief.kit'), { from: join(directory, 't.tar'), to: join(directory, 't2') });
    await carry(at(again, join(directory, 't2')), join(directory, 't2.tar'));
    for (const bundle of ['t.tar', 't2.tar'])
      await expect(closeByBundle(stage.a, { path: join(directory, bundle), input: nothing() })).rejects.toMatchObject({ code: 'FORKED' });
    expect(await acts(stage.a, stage.home)).toBe(true);
    await expect(recoverWith(stage.a, old, { from: join(directory, 'had'), to: join(directory, 'x') })).rejects.toMatchObject({
      code: 'KIT_UNFIT',
    });
  });
});

describe('recover', () => {
  test('goes on from the newest state that is whole, and can record, restore and move from there', async () => {
    const directory = temporary();
    const stage = await adopted(directory);
    await carry(stage.a, join(directory, 'nas'));
    await change(stage, 'never carried\n');
    cpSync(join(stage.home, '.perdure/ledger.jsonl'), join(directory, 'nas/ledger.jsonl'));
    renameSync(join(directory, 'a'), join(directory, 'gone'));
    const { seq } = await recoverWith(stage.b, join(directory, 'ada.kit'), { from: join(directory, 'nas'), to: stage.away });
    expect(seq).toBe(2);
    const b = at(stage.b, stage.away);
    expect(await status(b)).toBe(0);
    writeFileSync(join(stage.away, 'private/memory/note-2.md'), 'on b\n');
    expect((await checkpoint(b)).recorded).toBe(true);
    await restore(b, { revision: 'HEAD~1', paths: [], confirm: () => Promise.resolve() });
    expect((await gc(b, keepAll)).kept).toBeGreaterThan(0);
    await fence(b, { to: { invite: await inviteOf(testHost(directory, 'c')) }, acceptNew: true, drain: 0 });
    expect(await status(b)).toBe(0);
  });
});

describe('what lies in keys/', () => {
  test('a passphrase that was removed, a change that was refused or cut: no damage, and a backup recovers', async () => {
    const directory = temporary();
    const stage = await adopted(directory);
    const { recipient } = await addPassphrase(stage.a, 'correct horse battery staple', none);
    await carry(stage.a, join(directory, 'nas'));
    await removeReader(stage.a, recipient, none);
    await change(stage, 'after\n');
    await carry(stage.a, join(directory, 'nas'));
    expect(await status(stage.a)).toBe(0);
    expect(await status(stage.b, join(directory, 'nas'))).toBe(0);
    renameSync(join(directory, 'a'), join(directory, 'gone'));
    await recoverWith(stage.b, join(directory, 'ada.kit'), { from: join(directory, 'nas'), to: stage.away });
    expect(await acts(stage.b, stage.away)).toBe(true);
  });

  test('no more readers than an envelope opens to', async () => {
    const stage = await adopted(temporary());
    for (let at = 0; at < 61; at++) await addReader(stage.a, (await generateAgeKey()).recipient, none);
    await expect(addReader(stage.a, (await generateAgeKey()).recipient, none)).rejects.toMatchObject({ code: 'READERS_EXCEEDED' });
    await fence(stage.a, { to: { invite: await inviteOf(stage.b) }, acceptNew: true, drain: 0 });
    expect(await status(stage.a)).toBe(0);
  });

  test('a new holder has the secrets of before in a backup of its own', async () => {
    const stage = await arrived(temporary());
    const b = at(stage.b, stage.away);
    await promote(b);
    writeFileSync(join(stage.away, 'private/memory/note-1.md'), 'on b\n');
    await checkpoint(b);
    await carry(b, join(stage.directory, 'nas'));
    rmSync(stage.away, { recursive: true });
    const { missingSecrets } = await rehydrate(stage.b, {
      bundles: [join(stage.directory, 'nas')],
      directory: stage.away,
      dryRun: false,
      input: nothing(),
    });
    expect(missingSecrets).toEqual([]);
    expect(readFileSync(join(stage.away, 'private/secrets/chat.env'), 'utf8')).toContain('canary');
  });

  test('the grant by which a new holder opens older secrets outlives gc', async () => {
    const stage = await arrived(temporary());
    const b = at(stage.b, stage.away);
    await promote(b);
    writeFileSync(join(stage.away, 'private/memory/note-1.md'), 'on b\n');
    await checkpoint(b);
    await gc(b, { ...keepAll, keep: { last: 1 } });
    const found = await show(b, 'HEAD:private/secrets/chat.env');
    expect(found.kind).toBe('file');
    expect(await status(b)).toBe(0);
  });
});

describe('gc', () => {
  test('removes nothing where it cannot be read what is needed', async () => {
    const directory = temporary();
    const stage = await adopted(directory);
    const nas = join(directory, 'nas');
    await carry(stage.a, nas);
    for (const name of readdirSync(join(nas, 'packlists')))
      truncateSync(join(nas, 'packlists', name), statSync(join(nas, 'packlists', name)).size - 1);
    await expect(pruneBundle(stage.a, { directory: nas, grace: 0, dryRun: false })).rejects.toMatchObject({ code: 'BUNDLE_DAMAGED' });
    rmSync(join(nas, 'packlists'), { recursive: true });
    await expect(pruneBundle(stage.a, { directory: nas, grace: 0, dryRun: false })).rejects.toMatchObject({ code: 'BUNDLE_INCOMPLETE' });
    expect(readdirSync(join(nas, 'packs')).length).toBeGreaterThan(0);
  });

  test('a record that gives up the newest state, or the future, is no record', async () => {
    const stage = await adopted(temporary());
    const { state, host } = await openRoot(stage.a, stage.home);
    const record = (expired: GcRecord['expired']): GcRecord => ({
      format: 'perdure-ledger/1',
      kind: 'gc',
      seq: state.seq + 1,
      prev: state.head,
      agent: state.agent,
      epoch: state.epoch,
      by: host?.key.publicKey ?? state.holder,
      at: '2026-01-01T00:00:00.000Z',
      expired,
      folded: [],
    });
    for (const expired of [[[0, state.seq]], [[0, 2 ** 53 - 1]], [[1, 0]], [[state.seq + 1, state.seq + 1]]] as const)
      expect(() => reduce(state, { record: record(expired), digest: 'f'.repeat(64) as Digest })).toThrow('may not');
    expect(reduce(state, { record: record([[0, 1]]), digest: 'f'.repeat(64) as Digest }).expired).toEqual([[0, 1]]);
  });

  test('between the bulk and the fence: the target gets what it has not', async () => {
    const directory = temporary();
    const stage = await adopted(directory);
    for (const text of ['1\n', '2\n', '3\n']) await change(stage, text);
    const invite = await inviteOf(stage.b);
    await carry(stage.a, join(directory, 'bulk.tar'), { target: invite.by });
    await gc(stage.a, keepAll);
    await fence(stage.a, { to: { invite }, acceptNew: true, drain: 0 });
    await carry(stage.a, join(directory, 'rest.tar'));
    const bundles = [join(directory, 'bulk.tar'), join(directory, 'rest.tar')];
    await rehydrate(stage.b, { bundles, directory: stage.away, dryRun: false, input: nothing() });
    await promote(at(stage.b, stage.away));
    expect(await acts(stage.b, stage.away)).toBe(true);
  });
});

describe('a restore that was interrupted', () => {
  async function interrupted(): Promise<Stage> {
    const stage = await adopted(temporary());
    await change(stage, 'newer\n');
    let noted = false;
    const dying = testHost(stage.directory, 'a', {
      before: (_, path) => {
        noted ||= path.includes('/local/restore.');
        if (noted && path.includes('/agents/')) throw new Error('the power failed');
      },
    });
    const ports = { ...dying, cwd: stage.a.cwd, start: stage.a.start };
    await expect(restore(ports, { revision: '2', paths: [], confirm: () => Promise.resolve() })).rejects.toThrow('power');
    expect(readFileSync(join(stage.home, 'private/memory/note-1.md'), 'utf8')).toBe('note 1\n');
    return stage;
  }

  test('is not recorded, and nothing acts on it', async () => {
    const stage = await interrupted();
    await expect(checkpoint(stage.a)).rejects.toMatchObject({ code: 'RESTORE_UNFINISHED' });
    const run = guard(stage.a, { command: ['true'], shared: false, env: {}, cwd: stage.home, onSignal: () => () => undefined });
    await expect(run).rejects.toMatchObject({ code: 'RESTORE_UNFINISHED' });
  });

  test('goes on with the same command', async () => {
    const stage = await interrupted();
    await restore(stage.a, { revision: '2', paths: [], confirm: () => Promise.resolve() });
    expect(readFileSync(join(stage.home, 'private/memory/note-1.md'), 'utf8')).toBe('note 1\n');
    expect((await checkpoint(stage.a)).recorded).toBe(false);
  });

  test('is taken back by the command that it names, and what was written meanwhile is recorded', async () => {
    const stage = await interrupted();
    writeFileSync(join(stage.home, 'private/memory/meanwhile.md'), 'written on the mixture\n');
    const error = (await checkpoint(stage.a).catch((one: unknown) => one)) as AgentError;
    const revision = /restore ([0-9]+) --yes/.exec(error.hints[1]?.command ?? '')?.[1] ?? '';
    const { recorded } = await restore(stage.a, { revision, paths: [], confirm: () => Promise.resolve() });
    expect((await show(stage.a, `${String((recorded ?? 0) - 1)}:private/memory/meanwhile.md`)).kind).toBe('file');
    expect(readFileSync(join(stage.home, 'private/memory/note-1.md'), 'utf8')).toBe('newer\n');
    expect(await status(stage.a)).toBe(0);
  });
});

describe('a bundle with a newer ledger', () => {
  test('leaves the old host its own states to read, and tells it that it may not act', async () => {
    const directory = temporary();
    const stage = await adopted(directory);
    await carry(stage.a, join(directory, 'nas'));
    await recoverWith(stage.b, join(directory, 'ada.kit'), { from: join(directory, 'nas'), to: stage.away });
    const b = at(stage.b, stage.away);
    await rotateKeys(b);
    writeFileSync(join(stage.away, 'private/memory/note-2.md'), 'on b\n');
    await checkpoint(b);
    await carry(b, join(directory, 'nas'));
    await closeByBundle(stage.a, { path: join(directory, 'nas'), input: nothing() });
    expect(await acts(stage.a, stage.home)).toBe(false);
    expect((await show(stage.a, '2:private/memory/note-1.md')).kind).toBe('file');
  });
});
