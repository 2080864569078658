import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { scan } from '../../src/capture/scan.ts';
import { verify } from '../../src/actions/verify.ts';
import { digestOf } from '../../src/core/digest.ts';
import { ownThread, type Threads } from '../../src/core/threads/job.ts';
import { loadProfile } from '../../src/profile/built-in.ts';
import { createThreads } from '../../src/providers/threads.ts';
import { ENCODE_FRAME, decodeFrame } from '../../src/store/packs/frame.ts';
import { READ_PACK } from '../../src/store/packs/pack-jobs.ts';
import { adopted, bringTo, nothing, offered } from '../support/agent.ts';
import { listing, nativeAgent, temporary } from '../support/tree.ts';

const WORKER = new URL('../../dist/worker.js', import.meta.url);

/** A tree with more in it than one thread does alone: long files, a sparse one, a database, twins, and many small ones. */
function largeAgent(root: string): void {
  nativeAgent(root);
  const text = Array.from({ length: 60_000 }, (_, at) => `${String(at)} ${digestOf(String(at))}\n`).join('');
  writeFileSync(join(root, 'artifacts/long.jsonl'), text);
  writeFileSync(join(root, 'artifacts/twice.jsonl'), text);
  writeFileSync(join(root, 'artifacts/sparse.bin'), Buffer.concat([Buffer.alloc(3_000_000), Buffer.from('end')]));
  writeFileSync(
    join(root, 'private/state/a.db'),
    Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.from(text).subarray(0, 2_500_001)]),
  );
  for (let at = 0; at < 900; at++) {
    const directory = join(root, `private/memory/d${String(at % 30)}`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `${String(at)}.md`), text.slice(at * 100, at * 100 + at * 7));
  }
}

describe('threads', () => {
  test('do the work that they are given, and say what went wrong as it was said there', async () => {
    const threads = createThreads(WORKER, 2);
    const bytes = Buffer.alloc(300_000, 'frame ');
    const started = await threads.run(ENCODE_FRAME, bytes, { cost: 100 * 1024 * 1024 });
    const frames = await Promise.all(Array.from({ length: 40 }, () => threads.run(ENCODE_FRAME, bytes, { cost: 1, waits: true })));
    for (const frame of [started, ...frames]) expect(decodeFrame(frame, bytes.length).equals(bytes)).toBe(true);
    const source = { digest: digestOf('x'), place: { path: '/nonexistent', size: 5 }, header: 1, fileKey: new Uint8Array(16), deep: true };
    await expect(threads.run(READ_PACK, source, { cost: 1, waits: true })).rejects.toMatchObject({ code: 'ENOENT' });
    const directory = temporary();
    writeFileSync(join(directory, 'pack'), 'other');
    const altered = { ...source, place: { path: join(directory, 'pack'), size: 5 } };
    await expect(threads.run(READ_PACK, altered, { cost: 1, waits: true })).rejects.toMatchObject({
      code: 'PACK_DAMAGED',
      message: expect.stringContaining('not what its name says') as string,
    });
  });

  test('that die fail what they had and what waited for them', async () => {
    const script = join(temporary(), 'worker.mjs');
    writeFileSync(
      script,
      "import { parentPort } from 'node:worker_threads'; parentPort.on('message', () => { throw new Error('gone'); });",
    );
    const threads = createThreads(pathToFileURL(script), 1);
    const runs = Array.from({ length: 20 }, () => threads.run(ENCODE_FRAME, Buffer.alloc(10), { cost: 1, waits: true }));
    for (const run of runs) await expect(run).rejects.toMatchObject({ code: 'INTERNAL' });
  });

  test('record the state that one thread records alone', async () => {
    const alone = await adopted(temporary(), largeAgent);
    const first = await checkpoint(alone.a);
    const threads = createThreads(WORKER, 2);
    const { a } = await adopted(temporary(), nativeAgent);
    largeAgent(a.start.directory);
    const there = await checkpoint({ ...a, threads });
    const contents = (facts: typeof first.facts): unknown => facts.classes;
    expect(contents(there.facts)).toEqual(contents(first.facts));
    expect(there.facts.coverage).toEqual(first.facts.coverage);
    expect((await verify({ ...a, threads }, { path: null, input: nothing() })).status).toBe(0);
    expect((await verify({ ...a, threads: ownThread }, { path: null, input: nothing() })).status).toBe(0);
  });

  test('are not outrun by a directory of very many files', async () => {
    const root = join(temporary(), 'ada');
    mkdirSync(root);
    for (let at = 0; at < 12_000; at++) writeFileSync(join(root, `${String(at)}.md`), `note ${String(at)}\n`.repeat(at % 50));
    const options = { root, rootName: 'main', profile: await loadProfile('native'), putTree: () => Promise.resolve() };
    const clock = { now: () => Date.now(), sleep: () => Promise.resolve() };
    const alone = await scan({ ...options, clock, threads: ownThread });
    const together = await scan({ ...options, clock, threads: createThreads(WORKER, 2) });
    expect(together.root.pages).toEqual(alone.root.pages);
    expect(together.counter).toEqual(alone.counter);
  });

  const sides: readonly (readonly [string, () => Threads])[] = [
    ['one thread', () => ownThread],
    ['several', () => createThreads(WORKER, 3)],
  ];
  for (const [name, threads] of sides)
    test(`put a tree in place as it was, on ${name}`, async () => {
      const stage = await offered(temporary(), largeAgent);
      await bringTo({ ...stage.b, threads: threads() }, stage);
      expect(listing(stage.away)).toBe(listing(stage.home));
    });
});
