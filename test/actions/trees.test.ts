import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  closeSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
  lstatSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { promote } from '../../src/actions/answer.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { adopted, arrived } from '../support/agent.ts';
import { at } from '../support/host.ts';
import { has } from '../support/tools.ts';
import { listing, nativeAgent, temporary } from '../support/tree.ts';

/** File names of layouts.md section 1, both eras, self-made contents. */
const OPENCLAW = [
  'workspace/SOUL.md',
  'workspace/IDENTITY.md',
  'workspace/AGENTS.md',
  'workspace/MEMORY.md',
  'workspace/memory/2026-08-22.md',
  'workspace/memory/.dreams/recall.json',
  'workspace-main/skills/garden/SKILL.md',
  'agents/main/sessions/sessions.json',
  'agents/main/sessions/0f.jsonl',
  'agents/main/agent/auth-profiles.json',
  'cron/jobs.json',
  'delivery-queue/1.json',
  'telegram/update-offset-1.json',
  'credentials/whatsapp/1/creds.json',
  '.env',
  'openclaw.json',
  'openclaw.json.bak',
  'identity/device.json',
  'exec-approvals.json',
  'extensions/x/index.js',
  'media/photo.png',
  'logs/gateway.log',
];

describe('a tree comes back equal to the last mode, link and microsecond', () => {
  test.runIf(has('git'))("this repository's own clone, with history, as a body", async () => {
    const stage = await arrived(temporary(), (root) => {
      nativeAgent(root);
      execFileSync('rm', ['-rf', join(root, 'body')]);
      execFileSync('git', ['clone', '-q', resolve('.'), join(root, 'body')]);
    });
    expect(listing(stage.away)).toBe(listing(stage.home));
    expect(execFileSync('git', ['--no-optional-locks', '-C', join(stage.away, 'body'), 'status', '--porcelain']).toString()).toBe('');
    execFileSync('git', ['-C', join(stage.away, 'body'), 'fsck', '--strict', '--no-progress'], { stdio: 'ignore' });
  });

  test('a tree with the names of an OpenClaw state directory', async () => {
    const stage = await arrived(temporary(), (root) => {
      for (const path of OPENCLAW) {
        mkdirSync(join(root, 'private/memory/claw', path, '..'), { recursive: true });
        writeFileSync(join(root, 'private/memory/claw', path), `content of ${path}\n`, { mode: 0o600 });
      }
      nativeAgent(root);
    });
    expect(listing(stage.away)).toBe(listing(stage.home));
    await promote(at(stage.b, stage.away));
    expect(listing(stage.away)).toBe(listing(stage.home));
  });

  test('names of bytes, links of every kind, modes, read-only directories, odd times, holes and hard links', async () => {
    const stage = await arrived(temporary(), (root) => {
      nativeAgent(root);
      const odd = join(root, 'private/memory/odd');
      mkdirSync(odd);
      writeFileSync(Buffer.concat([Buffer.from(`${odd}/`), Buffer.from([0x6e, 0xff, 0xfe])]), 'not UTF-8');
      writeFileSync(join(odd, 'new\nline'), 'x');
      writeFileSync(join(odd, '‮evil'), 'x');
      writeFileSync(join(odd, 'x'.repeat(255)), 'long');
      mkdirSync(join(odd, 'empty'));
      symlinkSync('../note-0.md', join(odd, 'inside'));
      symlinkSync('/etc/passwd', join(odd, 'absolute'));
      symlinkSync('nowhere', join(odd, 'dangling'));
      symlinkSync('.', join(odd, 'loop'));
      symlinkSync(Buffer.from([0x2f, 0xff]), join(odd, 'bytes'));
      lutimesSync(join(odd, 'dangling'), 1, 1_234_567_890.123_456_3);
      for (const mode of [0o400, 0o755, 0o4755, 0o1777, 0o000]) {
        const path = join(odd, `mode-${mode.toString(8)}`);
        writeFileSync(path, 'x');
        chmodSync(path, mode);
      }
      for (const time of ['-1.5', '-86400', '0', '4102444800.000001', '1700000000.999999']) {
        const path = join(odd, `time-${time}`);
        writeFileSync(path, 'x');
        utimesSync(path, time, time);
      }
      writeFileSync(join(odd, 'first'), 'shared');
      linkSync(join(odd, 'first'), join(odd, 'second'));
      writeFileSync(join(odd, 'sparse'), '');
      truncateSync(join(odd, 'sparse'), 50_000_000);
      const fd = openSync(join(odd, 'sparse'), 'r+');
      writeSync(fd, 'end', 40_000_000);
      closeSync(fd);
      mkdirSync(join(odd, 'locked'));
      writeFileSync(join(odd, 'locked', 'inside'), 'x');
      chmodSync(join(odd, 'locked'), 0o555);
      utimesSync(join(odd, 'locked'), 1_000_000_000, 1_000_000_000);
    });
    expect(listing(stage.away)).toBe(listing(stage.home));
    const odd = join(stage.away, 'private/memory/odd');
    expect(lstatSync(join(odd, 'first')).ino).toBe(lstatSync(join(odd, 'second')).ino);
    expect(lstatSync(join(odd, 'sparse')).blocks * 512).toBeLessThan(10_000_000);
  });
});

test('FIFOs and sockets are listed and never opened', async () => {
  const { a, home } = await adopted(temporary());
  execFileSync('mkfifo', [join(home, 'private/memory/fifo')]);
  const server = createServer();
  await new Promise<void>((done) => server.listen(join(home, 'private/memory/socket.x'), done));
  try {
    const { facts } = await checkpoint(a);
    expect(facts.findings.map((one) => one.subject)).toEqual(['private/memory/fifo', 'private/memory/socket.x']);
    expect(facts.coverage).toMatchObject({ special: 2, complete: true });
  } finally {
    server.close();
  }
});
