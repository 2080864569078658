import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { descend } from '../../src/actions/descend.ts';
import { openRoot } from '../../src/actions/session/session.ts';
import { adopted, acts } from '../support/agent.ts';
import { at } from '../support/host.ts';
import { listing, nativeAgent, temporary } from '../support/tree.ts';

const CANARIES = ['canary-3f9a1c', 'canary-memory', 'canary-task', 'canary-remote'];

function tree(root: string): void {
  nativeAgent(root);
  writeFileSync(join(root, 'private/memory/diary.md'), 'canary-memory\n');
  writeFileSync(join(root, 'private/state/tasks.json'), '{"a":"canary-task"}\n');
  mkdirSync(join(root, 'body/.git'));
  writeFileSync(join(root, 'body/.git/config'), '[remote "origin"]\n\turl = https://me:canary-remote@example.invalid/x.git\n');
}

/** All bytes below a directory, packs in clear. */
function bytesBelow(directory: string): string {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
    .join('\n');
}

describe('descend', () => {
  test('a new agent has identity and body, keys and an id of its own, and no private byte of its parent', async () => {
    const { a, home, directory } = await adopted(temporary(), tree);
    const before = listing(home);
    const path = join(directory, 'bea');
    const { session, leftOut, files } = await descend(a, {
      directory: path,
      classes: [],
      recovery: { kit: join(directory, 'bea.kit') },
      proof: false,
    });
    expect(leftOut).toEqual(['body/.git/config', 'private/secrets/chat.env']);
    expect(files).toBe(2);
    expect(existsSync(join(path, 'private/self.json'))).toBe(true);
    expect(existsSync(join(path, 'body/body.yaml'))).toBe(true);
    const parent = await openRoot(a, home);
    expect(session.state.agent).not.toBe(parent.state.agent);
    expect(session.state.recovery).not.toEqual(parent.state.recovery);
    expect(listing(home)).toBe(before);
    expect(await acts(a, home)).toBe(true);
    expect(await acts(a, path)).toBe(true);
    const { recorded } = await checkpoint(at(a, path));
    expect(recorded).toBe(true);
    const all = bytesBelow(path);
    for (const canary of CANARIES) expect(all).not.toContain(canary);
    expect(all).not.toContain(parent.state.agent);
  });

  test('named classes come, too; a proof names the parent only if it is asked for', async () => {
    const { a, home, directory } = await adopted(temporary(), tree);
    const path = join(directory, 'bea');
    const { session } = await descend(a, { directory: path, classes: ['memory'], recovery: null, proof: true });
    expect(readFileSync(join(path, 'private/memory/diary.md'), 'utf8')).toBe('canary-memory\n');
    expect(existsSync(join(path, 'private/state/tasks.json'))).toBe(false);
    const [first] = session.chain.records;
    const parent = await openRoot(a, home);
    expect(first?.record).toMatchObject({
      kind: 'init',
      parent: { agent: parent.state.agent, seq: parent.state.seq, digest: parent.state.head },
    });
  });

  test('a target that is there is refused', async () => {
    const { a, home, directory } = await adopted(temporary(), tree);
    const options = { classes: [], recovery: null, proof: false } as const;
    mkdirSync(join(directory, 'full'));
    writeFileSync(join(directory, 'full/x'), 'mine');
    await expect(descend(a, { ...options, directory: join(directory, 'full') })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await expect(descend(a, { ...options, directory: home })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await expect(descend(a, { ...options, directory: join(home, 'body/child') })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
  });
});
