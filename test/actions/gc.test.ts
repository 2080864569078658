import { appendFileSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { gc, pruneBundle } from '../../src/actions/gc.ts';
import { pack } from '../../src/actions/pack.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { show } from '../../src/actions/show.ts';
import { verify } from '../../src/actions/verify.ts';
import { adopted, nothing } from '../support/agent.ts';
import { temporary } from '../support/tree.ts';

const DAY = 86_400_000;
const keepAll = { keep: {}, grace: 0, dryRun: false };

/** Makes files in a store as old as a test needs them. */
function age(directory: string, ms: number): void {
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile()) continue;
    const then = new Date(statSync(path).mtimeMs - ms);
    utimesSync(path, then, then);
  }
}

async function grow({ a, home }: { readonly a: Ports; readonly home: string }, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    appendFileSync(join(home, 'private/memory/long.jsonl'), `{"at":${String(at)}}\n`);
    writeFileSync(join(home, `private/memory/n-${String(at)}.md`), `note ${String(at)}\n`);
    writeFileSync(join(home, 'private/secrets/chat.env'), `TOKEN=canary-${String(at)}\n`);
    await checkpoint(a);
  }
}

const verified = async (ports: Ports, path: string | null = null): Promise<number> =>
  (await verify(ports, { path, input: nothing() })).status;
const packsIn = (directory: string): number =>
  readdirSync(join(directory, 'packs'), { recursive: true }).filter((name) => String(name).endsWith('.age')).length;

describe('gc', () => {
  test('folds small packs; every state is there afterwards, secrets too', async () => {
    const stage = await adopted(temporary());
    await grow(stage, 12);
    const before = packsIn(join(stage.home, '.perdure'));
    const { folded, seq, expired } = await gc(stage.a, keepAll);
    expect(expired).toBe(0);
    expect(folded?.packs).toBe(before);
    expect(seq).not.toBeNull();
    for (let back = 0; back < 12; back++) {
      const found = await show(stage.a, `HEAD~${String(back)}:private/secrets/chat.env`);
      if (found.kind !== 'file') throw new Error('no file');
      let text = '';
      for await (const bytes of found.content) text += bytes.toString('utf8');
      expect(text).toBe(`TOKEN=canary-${String(11 - back)}\n`);
    }
    expect(await verified(stage.a)).toBe(0);
    age(join(stage.home, '.perdure'), 1000);
    const again = await gc(stage.a, keepAll);
    expect(again.folded).toBeNull();
    expect(packsIn(join(stage.home, '.perdure'))).toBe(folded?.into);
    expect(await verified(stage.a)).toBe(0);
    await grow(stage, 2);
    expect(await verified(stage.a)).toBe(0);
  });

  test('gives up what no rule keeps, and frees its space', async () => {
    const stage = await adopted(temporary());
    writeFileSync(
      join(stage.home, 'private/memory/once.bin'),
      Buffer.alloc(2_000_000, 'x').map(() => Math.floor(Math.random() * 256)),
    );
    await checkpoint(stage.a);
    rmSync(join(stage.home, 'private/memory/once.bin'));
    await checkpoint(stage.a, { declare: ['memory-repair'] });
    await grow(stage, 3);
    const control = join(stage.home, '.perdure');
    const { kept, expired } = await gc(stage.a, { ...keepAll, keep: { last: 2 } });
    expect([kept, expired]).toEqual([2, 4]);
    age(control, 1000);
    const { pruned } = await gc(stage.a, keepAll);
    expect(pruned.bytes).toBeGreaterThan(1_900_000);
    expect(await verified(stage.a)).toBe(0);
    await expect(show(stage.a, 'HEAD~2')).rejects.toMatchObject({ code: 'REVISION_UNKNOWN' });
    await expect(show(stage.a, '2')).rejects.toMatchObject({ message: expect.stringContaining('given up by gc') as string });
  });

  test('keeps the last state without alarms, whatever the rules say', async () => {
    const stage = await adopted(temporary());
    await grow(stage, 2);
    rmSync(join(stage.home, 'private/memory/note-1.md'));
    await checkpoint(stage.a);
    rmSync(join(stage.home, 'private/memory/note-2.md'));
    await checkpoint(stage.a);
    const { kept } = await gc(stage.a, { ...keepAll, keep: { last: 1 } });
    expect(kept).toBe(2);
    expect((await show(stage.a, 'HEAD~1:private/memory/note-1.md')).kind).toBe('file');
  });

  test('leaves what a copy in progress reads, for the time of grace', async () => {
    const stage = await adopted(temporary());
    await grow(stage, 4);
    const control = join(stage.home, '.perdure');
    const copy = join(stage.directory, 'copy');
    mkdirSync(copy);
    // rsync takes the ledger first and the packs later.
    for (const name of ['format', 'ledger.jsonl', 'manifests', 'packlists', 'keys'])
      cpSync(join(control, name), join(copy, name), { recursive: true });
    age(control, 10 * DAY);
    const { pruned } = await gc(stage.a, { keep: { last: 1 }, grace: DAY, dryRun: false });
    expect(pruned.files).toBe(0);
    cpSync(join(control, 'packs'), join(copy, 'packs'), { recursive: true });
    expect(await verified(stage.a, copy)).toBe(0);
    await stage.a.clock.sleep(2 * DAY);
    expect((await gc(stage.a, { ...keepAll, grace: DAY })).pruned.files).toBeGreaterThan(0);
    expect(await verified(stage.a)).toBe(0);
  });

  test('frees a bundle directory by what its own ledger says', async () => {
    const stage = await adopted(temporary());
    const nas = join(stage.directory, 'nas');
    const carry = (): ReturnType<typeof pack> => pack(stage.a, { output: nas, includeSecrets: false, write: () => Promise.resolve() });
    await grow(stage, 6);
    await carry();
    await gc(stage.a, { ...keepAll, keep: { last: 1 } });
    age(nas, 1000);
    expect((await pruneBundle(stage.a, { directory: nas, grace: 0, dryRun: false })).files).toBe(0);
    await carry();
    expect((await pruneBundle(stage.a, { directory: nas, grace: 0, dryRun: false })).files).toBeGreaterThan(6);
    expect(await verified(stage.b, nas)).toBe(0);
  });

  test('a clock that contradicts the ledger is refused', async () => {
    const stage = await adopted(temporary());
    const behind = { ...stage.a, clock: { ...stage.a.clock, now: () => Date.now() - DAY } };
    await expect(gc(behind, keepAll)).rejects.toMatchObject({ code: 'CLOCK_BEHIND' });
  });

  test('a checkpoint folds by itself where small packs have grown many', async () => {
    const stage = await adopted(temporary());
    await grow(stage, 40);
    const { session } = await checkpoint(stage.a, { declare: ['evolve'] });
    const gcs = session.chain.records.filter(({ record }) => record.kind === 'gc');
    expect(gcs.length).toBeGreaterThan(0);
    expect(await verified(stage.a)).toBe(0);
  });
});
