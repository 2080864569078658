import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ScanIndexReader, ScanIndexWriter } from '../../src/capture/index/scan-index.ts';
import { scan, type ScanResult } from '../../src/capture/scan.ts';
import { digestOf } from '../../src/core/digest.ts';
import { ownThread } from '../../src/core/threads/job.ts';
import { loadProfile } from '../../src/profile/built-in.ts';
import { temporary } from '../support/tree.ts';

const profile = await loadProfile('native');
const MANIFEST = digestOf('a state');
/** Far enough ahead that no change counts as one of this very tick. */
const clock = { now: () => Date.now() + 1000, sleep: () => Promise.resolve() };

/** Scans with the index that lies at a path, and writes the next one there. */
async function scanWith(root: string, path: string): Promise<ScanResult> {
  const index = ScanIndexReader.open(path, { manifest: MANIFEST, profile: profile.digest });
  const newIndex = new ScanIndexWriter(path, profile.digest, index);
  const found = await scan({
    root,
    rootName: 'main',
    profile,
    clock,
    threads: ownThread,
    putTree: () => Promise.resolve(),
    index,
    newIndex,
  });
  index?.close();
  newIndex.commit(MANIFEST, found.secretFiles);
  return found;
}

function scanAll(root: string): Promise<ScanResult> {
  return scan({ root, rootName: 'main', profile, clock, threads: ownThread, putTree: () => Promise.resolve() });
}

function tree(root: string): void {
  for (const directory of ['private/memory/2026/11', 'private/secrets', 'body/src', 'artifacts/kept'])
    mkdirSync(join(root, directory), { recursive: true });
  for (let at = 0; at < 80; at++) writeFileSync(join(root, `private/memory/2026/11/note-${String(at)}.md`), `note ${String(at)}\n`);
  writeFileSync(join(root, 'private/self.json'), '{"version":1}\n');
  writeFileSync(join(root, 'private/secrets/chat.env'), 'TOKEN=canary-3f9a1c\n');
  writeFileSync(join(root, 'body/src/main.ts'), 'export {};\n');
  symlinkSync('main.ts', join(root, 'body/src/link'));
  // Left out by its first bytes, so that no row speaks of it.
  writeFileSync(join(root, 'artifacts/._note'), Buffer.from([0, 5, 0x16, 7, 1]));
  linkSync(join(root, 'body/src/main.ts'), join(root, 'artifacts/kept/twin'));
}

/** What a person does to a tree between two checkpoints, one thing after the other. */
const CHANGES: readonly (readonly [string, (root: string) => void])[] = [
  ['nothing', () => undefined],
  [
    'a file grows',
    (root) => {
      appendFileSync(join(root, 'private/memory/2026/11/note-3.md'), 'more\n');
    },
  ],
  [
    'a file is new',
    (root) => {
      writeFileSync(join(root, 'private/memory/2026/new.md'), 'new\n');
    },
  ],
  [
    'a file is gone',
    (root) => {
      rmSync(join(root, 'private/memory/2026/11/note-4.md'));
    },
  ],
  [
    'a mode changes',
    (root) => {
      chmodSync(join(root, 'private/memory/2026/11/note-5.md'), 0o600);
    },
  ],
  [
    'a time changes',
    (root) => {
      utimesSync(join(root, 'private/memory/2026/11'), 1, 1);
    },
  ],
  [
    'a directory moves',
    (root) => {
      renameSync(join(root, 'private/memory/2026'), join(root, 'private/memory/2027'));
    },
  ],
  [
    'a secret changes',
    (root) => {
      writeFileSync(join(root, 'private/secrets/chat.env'), 'TOKEN=canary-other\n');
    },
  ],
  [
    'a secret is new',
    (root) => {
      writeFileSync(join(root, 'private/secrets/mail.env'), 'TOKEN=canary-mail\n');
    },
  ],
  [
    'a secret is gone',
    (root) => {
      rmSync(join(root, 'private/secrets/chat.env'));
    },
  ],
  [
    'a hard link is gone',
    (root) => {
      rmSync(join(root, 'artifacts/kept/twin'));
    },
  ],
  [
    'a link points elsewhere',
    (root) => {
      rmSync(join(root, 'body/src/link'));
      symlinkSync('other.ts', join(root, 'body/src/link'));
    },
  ],
  [
    'a file becomes a directory',
    (root) => {
      rmSync(join(root, 'body/src/main.ts'));
      mkdirSync(join(root, 'body/src/main.ts'));
    },
  ],
  [
    'a database appears',
    (root) => {
      writeFileSync(join(root, 'artifacts/kept/a.db'), Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(5000)]));
    },
  ],
];

test('a scan with the index finds what a scan of every byte finds, whatever changed', async () => {
  const directory = temporary();
  const root = join(directory, 'ada');
  tree(root);
  const path = join(directory, 'index');
  await scanWith(root, path);
  for (const [what, change] of CHANGES) {
    change(root);
    const all = await scanAll(root);
    const found = await scanWith(root, path);
    expect({ what, root: found.root, classes: found.classes, counts: found.counts, counter: found.counter }).toEqual({
      what,
      root: all.root,
      classes: all.classes,
      counts: all.counts,
      counter: all.counter,
    });
    expect(new Set(found.databases), what).toEqual(new Set(all.databases));
    if (found.secrets !== null) expect(found.secrets, what).toEqual(all.secrets);
    expect(found.secrets === null, what).toBe(!what.includes('secret'));
    expect(found.secretFiles, what).toBe(all.secretFiles);
  }
});

test('a tree in which nothing changed is not read, and teaches the index nothing', async () => {
  const directory = temporary();
  const root = join(directory, 'ada');
  tree(root);
  await scanWith(root, join(directory, 'index'));
  const puts: string[] = [];
  const index = ScanIndexReader.open(join(directory, 'index'), { manifest: MANIFEST, profile: profile.digest });
  const putTree = (digest: string): Promise<void> => {
    puts.push(digest);
    return Promise.resolve();
  };
  const found = await scan({ root, rootName: 'main', profile, clock, threads: ownThread, putTree, index });
  index?.close();
  expect(found.learned).toBe(false);
  expect(found.secrets).toBeNull();
  expect(puts).toEqual([]);
});

test('a file that changed within the tick of the walk is read again', async () => {
  const directory = temporary();
  const root = join(directory, 'ada');
  tree(root);
  const now = { now: () => Date.now(), sleep: () => Promise.resolve() };
  writeFileSync(join(root, 'private/memory/2026/11/note-0.md'), 'as long\n');
  const newIndex = new ScanIndexWriter(join(directory, 'index'), profile.digest, null);
  const first = await scan({ root, rootName: 'main', profile, clock: now, threads: ownThread, putTree: () => Promise.resolve(), newIndex });
  newIndex.commit(MANIFEST, first.secretFiles);
  writeFileSync(join(root, 'private/memory/2026/11/note-0.md'), 'as lonG\n');
  const after = await scanWith(root, join(directory, 'index'));
  expect(after.root.pages).not.toEqual(first.root.pages);
});

test('an index of another profile or state is none, nor one that is cut or altered', async () => {
  const directory = temporary();
  const root = join(directory, 'ada');
  tree(root);
  const path = join(directory, 'index');
  const all = await scanWith(root, path);
  expect(ScanIndexReader.open(path, { manifest: digestOf('another'), profile: profile.digest })).toBeNull();
  expect(ScanIndexReader.open(path, { manifest: MANIFEST, profile: digestOf('another') })).toBeNull();
  for (const part of [path, `${path}-whole`, `${path}-blocks-0`]) {
    const size = statSync(part).size;
    for (const keep of [0, 1, size >> 1, size - 3]) {
      await scanWith(root, path);
      writeFileSync(part, Buffer.alloc(keep, 'x'), { flag: 'r+' });
      // Whatever is damaged is read again.
      expect((await scanWith(root, path)).root.pages, `${part} ${String(keep)}`).toEqual(all.root.pages);
    }
  }
});

test('a flipped bit of an index never comes into what is found', async () => {
  const directory = temporary();
  const root = join(directory, 'ada');
  tree(root);
  const path = join(directory, 'index');
  await scanWith(root, path);
  for (const part of [path, `${path}-whole`, `${path}-blocks-0`]) {
    const sound = readFileSync(part);
    for (let at = 0; at < sound.length; at += 1 + (sound.length >> 5)) {
      const altered = Buffer.from(sound);
      altered[at] = (altered[at] ?? 0) ^ 4;
      writeFileSync(part, altered);
      appendFileSync(join(root, 'body/new.md'), 'more\n');
      const index = ScanIndexReader.open(path, { manifest: MANIFEST, profile: profile.digest });
      const options = { root, rootName: 'main', profile, clock, threads: ownThread, putTree: () => Promise.resolve() };
      const found = await scan({ ...options, index });
      index?.close();
      const all = await scan(options);
      expect({ part, at, root: found.root, counter: found.counter, classes: found.classes }).toEqual({
        part,
        at,
        root: all.root,
        counter: all.counter,
        classes: all.classes,
      });
    }
    writeFileSync(part, sound);
  }
});

test('a file of blocks that is mostly out of use is written anew', async () => {
  const directory = temporary();
  const root = join(directory, 'ada');
  mkdirSync(join(root, 'private/memory'), { recursive: true });
  for (let at = 0; at < 1500; at++) writeFileSync(join(root, `private/memory/note-${String(at)}.md`), 'x');
  const path = join(directory, 'index');
  let largest = 0;
  for (let round = 0; round < 24; round++) {
    writeFileSync(join(root, 'private/memory/note-0.md'), `${String(round)}\n`);
    await scanWith(root, path);
    largest = Math.max(largest, ...[0, 1].map((file) => statSync(`${path}-blocks-${String(file)}`, { throwIfNoEntry: false })?.size ?? 0));
  }
  const all = await scanAll(root);
  expect((await scanWith(root, path)).root.pages).toEqual(all.root.pages);
  expect(largest).toBeLessThan(7 * 1024 * 1024);
});
