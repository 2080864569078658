import { existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { canonical, type Json } from '../../src/core/canonical.ts';
import { digestOf, type Digest } from '../../src/core/digest.ts';
import { carryOver } from '../../src/install/carry.ts';
import { planStage, stageTree, type StagedTree } from '../../src/install/stage.ts';
import { walkTree } from '../../src/manifest/tree.ts';
import { loadProfile } from '../../src/profile/built-in.ts';
import { temporary } from '../support/tree.ts';

/** A tree made by hand, as a stranger would. */
class Forge {
  readonly #chunks = new Map<Digest, Buffer>();

  put(bytes: Buffer): Digest {
    this.#chunks.set(digestOf(bytes), bytes);
    return digestOf(bytes);
  }

  page(entries: readonly object[]): Digest {
    return this.put(Buffer.from(canonical({ format: 'perdure-tree/1', entries } as unknown as Json)));
  }

  tree(pages: readonly Digest[]): StagedTree {
    return {
      root: { name: 'main', mode: 0o755, mtime: '0', pages },
      secrets: null,
      get: (digest) => {
        const bytes = this.#chunks.get(digest);
        return bytes === undefined ? Promise.reject(new Error('no chunk')) : Promise.resolve(bytes);
      },
    };
  }
}

const common = { mode: 0o755, mtime: '0', uid: 0, gid: 0, class: 'memory' };
const file = (name: string, content: Digest | null, size: number, more: object = {}): object => ({
  ...common,
  name,
  type: 'file',
  size: String(size),
  ...(content === null ? {} : { sha256: content, chunks: [content] }),
  ...more,
});
const link = (name: string, target: string): object => ({ ...common, name, type: 'link', target });

const COMPLETE = { limit: 100, has: () => true };

describe('a hostile tree', () => {
  test('does not unfold without end', async () => {
    const forge = new Forge();
    let pages: readonly Digest[] = [];
    for (let level = 0; level < 60; level++)
      pages = [
        forge.page([
          { ...common, name: 'a', type: 'directory', pages },
          { ...common, name: 'b', type: 'directory', pages },
        ]),
      ];
    const unfold = async (): Promise<void> => {
      for await (const { path } of walkTree(pages, forge.tree(pages).get, { limit: 10_000 })) expect(path).not.toBe('');
    };
    await expect(unfold()).rejects.toMatchObject({ code: 'TREE_DAMAGED' });
  });

  test('does not link to a file outside by a hard link that leads through a link of its own', async () => {
    const directory = temporary();
    mkdirSync(join(directory, 'outside'));
    writeFileSync(join(directory, 'outside', 'secret'), 'mine');
    mkdirSync(join(directory, 'staging'));
    const forge = new Forge();
    const pages = [forge.page([link('a', join(directory, 'outside')), file('b', digestOf('mine'), 4, { same: 'a/secret' })])];
    await expect(stageTree(forge.tree(pages), join(directory, 'staging'))).rejects.toMatchObject({ code: 'TREE_DAMAGED' });
    expect(readdirSync(join(directory, 'staging'))).toEqual(['a']);
  });

  test('does not bring a control directory of its own', async () => {
    const forge = new Forge();
    await expect(planStage(forge.tree([forge.page([file('.perdure', forge.put(Buffer.from('x')), 1)])]), COMPLETE)).rejects.toMatchObject({
      code: 'NAME_INVALID',
    });
  });

  test('does not write a content that is not what it says', async () => {
    const directory = temporary();
    const forge = new Forge();
    const content = forge.put(Buffer.from('other'));
    const pages = [forge.page([{ ...file('a', content, 5), sha256: digestOf('else') }])];
    await expect(stageTree(forge.tree(pages), directory)).rejects.toMatchObject({ code: 'TREE_DAMAGED' });
  });

  test('names that one file system takes for one are told before the first write', async () => {
    const forge = new Forge();
    const empty = forge.put(Buffer.alloc(0));
    const names = ['A', 'a', '\u00e9', 'e\u0301'].sort();
    expect((await planStage(forge.tree([forge.page(names.map((name) => file(name, empty, 0)))]), COMPLETE)).collisions).toHaveLength(2);
  });

  test('does not send a carried file elsewhere by a link in its place', async () => {
    const directory = temporary();
    for (const path of ['old/private/secrets', 'staged/private', 'elsewhere']) mkdirSync(join(directory, path), { recursive: true });
    writeFileSync(join(directory, 'old/private/secrets/chat.env'), 'canary-3f9a1c');
    symlinkSync(join(directory, 'elsewhere'), join(directory, 'staged/private/secrets'));
    expect(carryOver(join(directory, 'old'), join(directory, 'staged'), await loadProfile('native'))).toEqual([]);
    expect(existsSync(join(directory, 'elsewhere/chat.env'))).toBe(false);
    expect(readFileSync(join(directory, 'old/private/secrets/chat.env'), 'utf8')).toBe('canary-3f9a1c');
  });
});
