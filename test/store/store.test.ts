import { statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { digestOf, type Digest } from '../../src/core/digest.ts';
import { ownThread } from '../../src/core/threads/job.ts';
import { generateAgeKey } from '../../src/store/age.ts';
import { ChunkIndex } from '../../src/store/packs/chunk-index.ts';
import { ChunkTable } from '../../src/store/packs/chunk-table.ts';
import { decodeFrame, encodeFrame } from '../../src/store/packs/frame.ts';
import { ObjectSource } from '../../src/store/packs/objects.ts';
import { decodePack, encodeHeader } from '../../src/store/packs/pack.ts';
import { PackWriter } from '../../src/store/packs/pack-writer.ts';
import { appendPacks, packListPage, type PackListPage } from '../../src/store/packs/packlist.ts';
import { temporary } from '../support/tree.ts';

describe('a frame', () => {
  test('comes back, whether it compresses or not', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), (bytes) => {
        const plaintext = Buffer.from(bytes);
        expect(decodeFrame(encodeFrame(plaintext), plaintext.length).equals(plaintext)).toBe(true);
      }),
    );
  });

  test('that claims another length than it has is refused, so that a small pack cannot fill the memory', () => {
    const frame = encodeFrame(Buffer.alloc(1_000_000));
    expect(() => decodeFrame(frame, 999_999)).toThrow();
    expect(() => decodeFrame(frame, 1 << 30)).toThrow();
    expect(() => decodeFrame(Buffer.from([9, 1, 2]), 2)).toThrow('unknown codec');
  });
});

describe('a pack', () => {
  test('whose header does not add up is refused', () => {
    const frame = encodeFrame(Buffer.from('abc'));
    const header = { format: 'perdure-pack/1', frames: [{ size: frame.length, raw: 4, chunks: [[digestOf('abc'), 3]] }] } as const;
    expect(() => decodePack(Buffer.concat([encodeHeader(header), frame]))).toThrow('does not add up');
    expect(() =>
      decodePack(Buffer.concat([encodeHeader({ ...header, frames: [{ ...header.frames[0], raw: 3 }] }), frame, Buffer.from('x')])),
    ).toThrow('longer or shorter');
    expect(() => decodePack(Buffer.from('{}\n'))).toThrow('no valid header');
  });

  test('gives every chunk back, and writes none twice', async () => {
    const { identity, recipient } = await generateAgeKey();
    const directory = temporary();
    const index = new ChunkIndex();
    const writer = new PackWriter({
      index,
      key: { id: '0123456789abcdef', recipient },
      threads: ownThread,
      sink: ({ entry, bytes }) => {
        writeFileSync(join(directory, entry.digest), bytes);
        return Promise.resolve();
      },
    });
    const chunks = Array.from({ length: 300 }, (_, at) => Buffer.alloc(5000, `chunk ${String(at)} `));
    for (const chunk of [...chunks, ...chunks]) await writer.put(digestOf(chunk), chunk);
    expect(await writer.peek(digestOf(chunks[299] ?? ''))).toEqual(chunks[299]);
    const packs = await writer.finish(Buffer.from('top'));
    const source = new ObjectSource({
      locate: (name) => {
        const path = join(directory, basename(name, '.age'));
        return Promise.resolve({ path, size: statSync(path).size });
      },
      threads: ownThread,
      keys: new Map([['0123456789abcdef', identity]]),
      packs,
    });
    await source.learn();
    for (const chunk of chunks) expect((await source.chunk(digestOf(chunk))).equals(chunk)).toBe(true);
    expect((await source.top(packs.at(-1)?.digest ?? ('' as Digest))).toString()).toBe('top');
    expect(source.index.table.size).toBe(301);
  });
});

test('the chunk table holds what a map holds', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5000), { maxLength: 4000 }), (numbers) => {
      const table = new ChunkTable();
      const map = new Map<Digest, number>();
      for (const number of numbers) {
        const digest = digestOf(String(number));
        expect(table.add(digest, { pack: number, frame: 1, offset: 2, length: 3 })).toBe(!map.has(digest));
        if (!map.has(digest)) map.set(digest, number);
      }
      expect(table.size).toBe(map.size);
      for (const [digest, number] of map) expect(table.get(digest)?.pack).toBe(number);
      expect(table.get(digestOf('none'))).toBeNull();
    }),
    { numRuns: 20 },
  );
});

test('a year of quarter hours names few pages, and writes each pack into few of them', () => {
  let pages: readonly PackListPage[] = [];
  let most = 0;
  let written = 0;
  for (let at = 0; at < 35_040; at++) {
    const after = appendPacks(pages, [{ digest: digestOf(String(at)), size: at, key: '0123456789abcdef' }]);
    for (const page of after) if (!pages.includes(page)) written += page.packs.length;
    pages = after;
    most = Math.max(most, pages.length);
  }
  expect(most).toBeLessThan(64);
  expect(written).toBeLessThan(35_040 * 5);
  expect(pages.flatMap((page) => page.packs.map((pack) => pack.size))).toEqual(Array.from({ length: 35_040 }, (_, at) => at));
  expect(packListPage(pages[0]?.packs ?? []).digest).toBe(pages[0]?.digest);
});
