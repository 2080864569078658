import { appendFileSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { pack } from '../../src/actions/pack.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { verify } from '../../src/actions/verify.ts';
import { adopted, nothing } from '../support/agent.ts';
import { testHost } from '../support/host.ts';
import { temporary } from '../support/tree.ts';

const carry = (ports: Ports, output: string, options: Partial<Parameters<typeof pack>[1]> = {}): ReturnType<typeof pack> =>
  pack(ports, { output, includeSecrets: false, write: () => Promise.resolve(), ...options });

describe('a medium', () => {
  test('with FAT takes no file of 4 GiB: that is said before the first byte (a simulated file system with a small limit)', async () => {
    const { a, directory } = await adopted(temporary());
    const fat: Ports = { ...a, fileSystem: () => Promise.resolve({ type: 'vfat', fileLimit: 5000, caveat: null }) };
    await expect(carry(fat, join(directory, 'ada.tar'))).rejects.toMatchObject({ code: 'LIMIT_FAT' });
    expect(existsSync(join(directory, 'ada.tar'))).toBe(false);
    const { poorFileSystem } = await carry(fat, join(directory, 'ada'));
    expect(poorFileSystem).toBe('vfat');
    expect((await verify(a, { path: join(directory, 'ada'), input: nothing() })).status).toBe(0);
  });

  test('that loses what it was given is found out', async () => {
    const { a, home, directory } = await adopted(temporary());
    let rotten = false;
    const host = testHost(directory, 'a', {
      before: (what, path) => {
        // After the last file has its name.
        if (what !== 'syncDirectory' || rotten || path !== join(directory, 'stick')) return;
        if (!existsSync(join(directory, 'stick/packs'))) return;
        const [pack = ''] = readdirSync(join(directory, 'stick/packs'), { recursive: true })
          .map(String)
          .filter((name) => name.endsWith('.age'));
        if (pack === '') return;
        appendFileSync(join(directory, 'stick/packs', pack), 'x');
        rotten = true;
      },
    });
    const ports = { ...host, cwd: home, start: a.start };
    await expect(carry(ports, join(directory, 'stick'), { checkMedium: true })).rejects.toMatchObject({ code: 'MEDIUM_DAMAGED' });
  });

  test('that keeps it is read back, grants and all', async () => {
    const { a, directory } = await adopted(temporary());
    const { medium } = await carry(a, join(directory, 'stick'), { checkMedium: true, script: true });
    expect(medium?.files).toBeGreaterThan(6);
  });
});

describe('what is there already', () => {
  test('is replaced only where it is a bundle of this agent', async () => {
    const { a, directory } = await adopted(temporary());
    const other = await adopted(temporary());
    writeFileSync(join(directory, 'letter.txt'), 'mine');
    symlinkSync('letter.txt', join(directory, 'link.tar'));
    execFileSync('mkfifo', [join(directory, 'fifo')]);
    mkdirSync(join(directory, 'full'));
    writeFileSync(join(directory, 'full/x'), 'mine');
    await carry(other.a, join(directory, 'other.tar'));
    for (const name of ['letter.txt', 'ada.kit', 'fifo', 'full', 'link.tar'])
      await expect(carry(a, join(directory, name)), name).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await expect(carry(a, join(directory, 'other.tar'))).rejects.toMatchObject({ code: 'BUNDLE_FOREIGN' });
    await expect(carry(a, join(a.hostDirectory, 'host.key'))).rejects.toMatchObject({ code: 'OUTPUT_INSIDE_ROOT' });
    expect(readFileSync(join(directory, 'letter.txt'), 'utf8')).toBe('mine');
    expect(lstatSync(join(directory, 'fifo')).isFIFO()).toBe(true);
    await carry(a, join(directory, 'ada.tar'));
    await carry(a, join(directory, 'ada.tar'));
  });

  test('a bulk that is written again is made anew, since nobody knows that it arrived', async () => {
    const { a, b, home, directory } = await adopted(temporary());
    const { invite } = await import('../../src/actions/invite.ts');
    const { parseInvite } = await import('../../src/ledger/message.ts');
    const target = parseInvite(Buffer.from((await invite(b)).document)).by;
    const bulk = join(directory, 'bulk.tar');
    expect((await carry(a, bulk, { target })).leftOut).toBe(0);
    expect((await carry(a, bulk, { target })).leftOut).toBe(0);
    writeFileSync(join(home, 'private/memory/note-1.md'), 'newer\n');
    await checkpoint(a);
    expect((await carry(a, join(directory, 'more.tar'), { target })).leftOut).toBeGreaterThan(0);
  });
});
