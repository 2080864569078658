import { Volume, createFsFromVolume } from 'memfs';
import { describe, expect, test } from 'vitest';
import { createFiles, type FileSystem, type Files } from '../../src/core/files.ts';

class Crash extends Error {}

/** A file layer on a volume that crashes at the nth change. */
function crashing(volume: InstanceType<typeof Volume>, crashAt: number): { readonly files: Files; readonly count: () => number } {
  let count = 0;
  const fs = createFsFromVolume(volume) as unknown as FileSystem;
  return {
    count: () => count,
    files: createFiles(fs, () => {
      if (++count === crashAt) throw new Crash();
    }),
  };
}

async function everyCrash(write: (files: Files) => Promise<unknown>, check: (files: Files) => Promise<void>): Promise<number> {
  for (let crashAt = 1; ; crashAt++) {
    const volume = Volume.fromJSON({ '/d/old': 'before' });
    const { files } = crashing(volume, crashAt);
    const crashed = await write(files).then(
      () => false,
      (error: unknown) => error instanceof Crash,
    );
    const after = crashing(volume, 0).files;
    await check(after);
    if (!crashed) return crashAt - 1;
    // The same command again finishes.
    await write(after);
    await check(after);
  }
}

describe('the file layer', () => {
  test('a replaced file is the old one or the new one at every crash point', async () => {
    const points = await everyCrash(
      (files) => files.replace('/d/old', 'after'),
      async (files) => {
        expect(['before', 'after']).toContain((await files.read('/d/old')).toString());
      },
    );
    expect(points).toBeGreaterThan(3);
  });

  test('a created file is whole or not there at every crash point', async () => {
    await everyCrash(
      (files) => files.create('/d/sub/new', 'whole'),
      async (files) => {
        expect([undefined, 'whole']).toContain((await files.readIfPresent('/d/sub/new'))?.toString());
      },
    );
  });

  test('of two that create one file exactly one wins, and its bytes stay', async () => {
    const { files } = crashing(new Volume(), 0);
    const won = await Promise.all(['a', 'b', 'c'].map((text) => files.create('/claim', text)));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect((await files.read('/claim')).toString()).toBe('abc'.charAt(won.indexOf(true)));
  });

  test('an append where the file ends elsewhere is refused and changes nothing', async () => {
    const { files } = crashing(Volume.fromJSON({ '/log': 'one\n' }), 0);
    await expect(files.append('/log', 'two\n', { at: 3 })).rejects.toMatchObject({ code: 'RACE_LOST' });
    expect((await files.read('/log')).toString()).toBe('one\n');
  });

  test('a missing file has a code of its own', async () => {
    const { files } = crashing(new Volume(), 0);
    await expect(files.read('/none')).rejects.toMatchObject({ code: 'FILE_MISSING' });
  });
});
