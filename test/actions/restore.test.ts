import { appendFileSync, linkSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { planRestore, restore } from '../../src/actions/restore.ts';
import { restoreTo } from '../../src/actions/restore-to.ts';
import { verify } from '../../src/actions/verify.ts';
import { verifyBetween } from '../../src/actions/between.ts';
import { adopted, acts, arrived, nothing } from '../support/agent.ts';
import { at } from '../support/host.ts';
import { listing, nativeAgent, temporary } from '../support/tree.ts';

const yes = { confirm: () => Promise.resolve() };
const back = (ports: Ports, revision: string, paths: readonly string[] = []): ReturnType<typeof restore> =>
  restore(ports, { revision, paths, ...yes });

function tree(root: string): void {
  nativeAgent(root);
  writeFileSync(join(root, 'private/state/queue.json'), '[1]\n');
  mkdirSync(join(root, 'private/memory/deep/er'), { recursive: true });
  writeFileSync(join(root, 'private/memory/deep/er/x.md'), 'x\n', { mode: 0o640 });
  linkSync(join(root, 'private/memory/deep/er/x.md'), join(root, 'private/memory/twin.md'));
  symlinkSync('note-1.md', join(root, 'private/memory/link'));
}

function disturb(home: string): void {
  rmSync(join(home, 'private/memory/deep'), { recursive: true });
  rmSync(join(home, 'private/memory/link'));
  rmSync(join(home, 'private/memory/note-2.md'));
  mkdirSync(join(home, 'private/memory/note-2.md'));
  writeFileSync(join(home, 'private/memory/note-2.md/inner'), 'a file became a directory\n');
  writeFileSync(join(home, 'private/memory/new.md'), 'new\n');
  appendFileSync(join(home, 'private/memory/long.jsonl'), '{"a":2}\n');
  writeFileSync(join(home, 'private/state/queue.json'), '[]\n');
  writeFileSync(join(home, 'private/self.json'), '{"version":2}\n');
}

describe('restore', () => {
  test('tells beforehand what it will do to what lies there, recorded or not', async () => {
    const { a, home } = await adopted(temporary(), tree);
    rmSync(join(home, 'private/memory/note-1.md'));
    writeFileSync(join(home, 'private/memory/new.md'), 'new\n');
    expect((await planRestore(a, { revision: 'HEAD', paths: ['private/memory/note-1.md'] })).changes).toEqual([
      { kind: 'added', path: 'private/memory/note-1.md' },
    ]);
    const { changes } = await planRestore(a, { revision: 'HEAD', paths: [] });
    expect(changes).toEqual([
      { kind: 'removed', path: 'private/memory/new.md' },
      { kind: 'added', path: 'private/memory/note-1.md' },
    ]);
    expect((await back(a, 'HEAD')).changes).toEqual(changes);
  });

  test('the whole tree goes back, to the last time; the ledger goes on and no alarm is raised', async () => {
    const { a, home } = await adopted(temporary(), tree);
    const before = listing(home);
    disturb(home);
    await checkpoint(a, { declare: ['memory-repair', 'identity-update'] });
    const disturbed = listing(home);
    const result = await back(a, 'HEAD~1');
    expect(listing(home)).toBe(before);
    expect(result.delicate).toEqual([{ path: 'private/state/queue.json', flag: 'queue' }]);
    expect(result.classes).toMatchObject({ identity: 1, workflow: 1 });
    expect((await verify(a, { path: null, input: nothing() })).status).toBe(0);
    expect((await verifyBetween(a, 'HEAD~1..HEAD')).status).toBe(0);
    expect(await acts(a, home)).toBe(true);
    await back(a, String((result.recorded ?? 0) - 1));
    expect(listing(home)).toBe(disturbed);
  });

  test('what is there and was not recorded is recorded first', async () => {
    const { a, home } = await adopted(temporary(), tree);
    writeFileSync(join(home, 'private/memory/unsaved.md'), 'not recorded yet\n');
    const { recorded } = await back(a, 'HEAD');
    expect(existsSync(join(home, 'private/memory/unsaved.md'))).toBe(false);
    await back(a, String((recorded ?? 0) - 1), ['private/memory/unsaved.md']);
    expect(readFileSync(join(home, 'private/memory/unsaved.md'), 'utf8')).toBe('not recorded yet\n');
  });

  test('only the named paths go back; secrets and host files stay', async () => {
    const { a, home } = await adopted(temporary(), tree);
    disturb(home);
    writeFileSync(join(home, 'private/secrets/chat.env'), 'TOKEN=canary-new\n');
    await checkpoint(a, { declare: ['memory-repair', 'identity-update'] });
    const { stay } = await planRestore(a, { revision: 'HEAD~1', paths: [] });
    expect(stay).toBe(1);
    await back(a, 'HEAD~1', ['private/memory/deep', 'private/self.json']);
    expect(readFileSync(join(home, 'private/memory/deep/er/x.md'), 'utf8')).toBe('x\n');
    expect(readFileSync(join(home, 'private/self.json'), 'utf8')).toContain('Ada');
    expect(existsSync(join(home, 'private/memory/new.md'))).toBe(true);
    await back(a, '2');
    expect(readFileSync(join(home, 'private/secrets/chat.env'), 'utf8')).toBe('TOKEN=canary-new\n');
    expect(existsSync(join(home, 'private/memory/new.md'))).toBe(false);
  });

  test('into a new directory, without touching the agent', async () => {
    const { a, home, directory } = await adopted(temporary(), tree);
    const before = listing(home);
    const whole = join(directory, 'whole');
    expect((await restoreTo(a, { revision: 'HEAD', paths: [], directory: whole })).secretsSealed).toBe(false);
    expect(listing(whole)).toBe(before);
    await restoreTo(a, { revision: 'HEAD', paths: ['private/memory/twin.md'], directory: join(directory, 'part') });
    expect(readFileSync(join(directory, 'part/private/memory/twin.md'), 'utf8')).toBe('x\n');
    await expect(restoreTo(a, { revision: 'HEAD', paths: [], directory: whole })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    expect(listing(home)).toBe(before);
  });

  test('only the holder may, and only a state and paths that there are', async () => {
    const { a, b, away } = await arrived(temporary(), tree);
    await expect(back(a, 'HEAD')).rejects.toMatchObject({ code: 'OFFERED' });
    await expect(back(at(b, away), 'HEAD')).rejects.toMatchObject({ code: 'OFFERED' });
    const { a: c } = await adopted(temporary(), tree);
    await expect(back(c, '99')).rejects.toMatchObject({ code: 'REVISION_UNKNOWN' });
    await expect(back(c, 'HEAD', ['private/nothing'])).rejects.toMatchObject({ code: 'PATH_UNKNOWN' });
    await expect(back(c, 'HEAD', ['/etc/passwd'])).rejects.toMatchObject({ code: 'PATH_UNKNOWN' });
  });
});
