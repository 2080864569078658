import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { PROGRAM, run } from '../support/run.ts';
import { isRoot } from '../support/tools.ts';
import { listing, nativeAgent, temporary } from '../support/tree.ts';

interface World {
  readonly directory: string;
  readonly home: string;
  readonly a: string;
  readonly b: string;
}

/** An agent at host a with one checkpoint, and a bundle that is offered to host b. */
function world(): World {
  const directory = temporary();
  const home = join(directory, 'a', 'ada');
  mkdirSync(home, { recursive: true });
  nativeAgent(home);
  const made = { directory, home, a: join(directory, 'host-a'), b: join(directory, 'host-b') };
  ok(['init', '--recovery-kit', '../ada.kit'], made.a, home);
  ok(['checkpoint'], made.a, home);
  return made;
}

function ok(argv: readonly string[], host: string, cwd: string): Buffer {
  const done = run(argv, { host, cwd });
  if (done.status !== 0) throw new Error(`${argv.join(' ')}: ${String(done.status)} ${done.stderr.toString()}`);
  return done.stdout;
}

function offer({ directory, home, a, b }: World): string {
  writeFileSync(join(directory, 'i'), ok(['invite'], b, directory));
  ok(['fence', '--to', '../../i', '--accept-new'], a, home);
  ok(['pack', '-o', '../../ada.tar', '--include-secrets'], a, home);
  return join(directory, 'ada.tar');
}

/** What a refusal must be: a code, the subject in its line, a next step, the status, and nothing changed. */
function refused(
  argv: readonly string[],
  where: { readonly host: string; readonly cwd: string; readonly watch: readonly string[] },
  what: { readonly status: number; readonly code: string; readonly names: string },
): void {
  const before = where.watch.map((path) => (existsSync(path) ? listing(path) : 'absent'));
  const done = run(argv, { host: where.host, cwd: where.cwd });
  const said = done.stderr.toString();
  expect(done.status, said).toBe(what.status);
  const [line = ''] = said.split('\n').filter((one) => one.startsWith('agent: '));
  expect(line).toMatch(new RegExp(`^agent: ${what.code}: `));
  expect(line).toContain(what.names);
  expect(said).toMatch(/^next: /m);
  expect(where.watch.map((path) => (existsSync(path) ? listing(path) : 'absent'))).toEqual(before);
}

describe('a refusal has a code, names its subject, tells the next step, and changes nothing', () => {
  let shared: World;
  let bundle: string;
  beforeAll(() => {
    shared = { ...world() };
    bundle = offer(shared);
  });

  test('no agent here', () => {
    const directory = temporary();
    refused(
      ['status'],
      { host: join(directory, 'h'), cwd: directory, watch: [directory] },
      { status: 10, code: 'AGENT_MISSING', names: directory },
    );
  });

  test('an unknown profile', () => {
    const directory = temporary();
    refused(
      ['init', '--no-recovery', '--profile', 'none'],
      { host: join(directory, 'h'), cwd: directory, watch: [directory] },
      { status: 2, code: 'PROFILE_UNKNOWN', names: 'none' },
    );
  });

  test('a second init, and one within an agent', () => {
    const { home, a } = world();
    refused(['init', '--no-recovery'], { host: a, cwd: home, watch: [home] }, { status: 1, code: 'AGENT_EXISTS', names: home });
    refused(
      ['init', 'private', '--no-recovery'],
      { host: a, cwd: home, watch: [home] },
      { status: 1, code: 'AGENT_EXISTS', names: 'private' },
    );
  });

  test('a kit inside the root, and one that exists', () => {
    const directory = temporary();
    mkdirSync(join(directory, 'r'));
    writeFileSync(join(directory, 'kit'), 'mine');
    const where = { host: join(directory, 'h'), cwd: directory, watch: [directory] };
    refused(['init', 'r', '--recovery-kit', 'r/kit'], where, { status: 2, code: 'KIT_INSIDE_ROOT', names: 'r/kit' });
    const done = run(['init', 'r', '--recovery-kit', 'kit'], where);
    expect(done.status).toBe(1);
    expect(readFileSync(join(directory, 'kit'), 'utf8')).toBe('mine');
  });

  test('an output inside the root', () => {
    const { home, a } = world();
    refused(['pack', '-o', 'x/y.tar'], { host: a, cwd: home, watch: [home] }, { status: 2, code: 'OUTPUT_INSIDE_ROOT', names: 'y.tar' });
  });

  test('a host without a fitting key', () => {
    const c = join(shared.directory, 'host-c');
    ok(['invite'], c, shared.directory);
    refused(
      ['rehydrate', bundle, 'c'],
      { host: c, cwd: shared.directory, watch: [join(shared.directory, 'c')] },
      { status: 12, code: 'KEY_UNFIT', names: bundle },
    );
  });

  test('a truncated bundle', () => {
    const cut = join(shared.directory, 'cut.tar');
    cpSync(bundle, cut);
    truncateSync(cut, Math.floor(statSync(bundle).size / 2));
    refused(
      ['rehydrate', cut, 'x'],
      { host: shared.b, cwd: shared.directory, watch: [join(shared.directory, 'x')] },
      { status: 13, code: 'BUNDLE_DAMAGED', names: 'cut.tar' },
    );
  });

  test('a file that is no bundle', () => {
    writeFileSync(join(shared.directory, 'prose'), 'once upon a time\n'.repeat(100));
    refused(
      ['rehydrate', 'prose', 'x'],
      { host: shared.b, cwd: shared.directory, watch: [join(shared.directory, 'x')] },
      { status: 13, code: 'BUNDLE_DAMAGED', names: 'prose' },
    );
  });

  test('an unsupported format stays as it is', () => {
    const { home, a } = world();
    writeFileSync(join(home, '.perdure/format'), 'perdure 7\n');
    refused(['checkpoint'], { host: a, cwd: home, watch: [home] }, { status: 16, code: 'FORMAT_UNSUPPORTED', names: 'perdure 7' });
    expect(readFileSync(join(home, '.perdure/format'), 'utf8')).toBe('perdure 7\n');
  });

  test('a target that is not empty, another agent, or within one', () => {
    const { home, a } = world();
    mkdirSync(join(shared.directory, 'full'));
    writeFileSync(join(shared.directory, 'full', 'x'), 'mine');
    const where = { host: shared.b, cwd: shared.directory, watch: [join(shared.directory, 'full'), home] };
    refused(['rehydrate', bundle, 'full'], where, { status: 1, code: 'TARGET_OCCUPIED', names: 'full' });
    refused(['rehydrate', bundle, home], where, { status: 1, code: 'TARGET_OCCUPIED', names: home });
    refused(['rehydrate', bundle, join(home, 'body', 'x')], where, { status: 1, code: 'TARGET_OCCUPIED', names: home });
    expect(a).not.toBe('');
  });

  test.runIf(isRoot)('a target that is a mount point, or has no room', () => {
    const mount = join(shared.directory, 'mount');
    mkdirSync(mount);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', mount]);
    try {
      refused(
        ['rehydrate', bundle, 'mount'],
        { host: shared.b, cwd: shared.directory, watch: [mount] },
        { status: 1, code: 'TARGET_MOUNTED', names: 'mount' },
      );
      refused(
        ['rehydrate', bundle, 'mount/ada'],
        { host: shared.b, cwd: shared.directory, watch: [mount] },
        { status: 1, code: 'SPACE_SHORT', names: mount },
      );
    } finally {
      execFileSync('umount', [mount]);
    }
  });

  test.runIf(isRoot)('a disk that fills while a bundle is written leaves nothing behind', () => {
    const { home, a, directory } = world();
    writeFileSync(join(home, 'private/memory/big'), randomBytes(3_000_000));
    ok(['checkpoint'], a, home);
    const mount = join(directory, 'small');
    mkdirSync(mount);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mount]);
    try {
      refused(
        ['pack', '-o', join(mount, 'ada.tar')],
        { host: a, cwd: home, watch: [home] },
        { status: 1, code: 'SPACE_SHORT', names: 'ada.tar' },
      );
      expect(readdirSync(mount)).toEqual([]);
    } finally {
      execFileSync('umount', [mount]);
    }
  });

  test('a lock that is held', async () => {
    const { home, a } = world();
    const id =
      readdirSync(join(a, 'agents'))
        .find((name) => name.endsWith('.json'))
        ?.slice(0, 64) ?? '';
    mkdirSync(join(a, 'agents', `${id}.lock`));
    writeFileSync(join(home, 'private/memory/new.md'), 'x');
    refused(['checkpoint'], { host: a, cwd: home, watch: [home] }, { status: 11, code: 'LOCK_HELD', names: 'another process' });
    return Promise.resolve();
  });

  test('of two checkpoints at once one wins, and the other ends 11 or finds nothing to do', async () => {
    const { home, a } = world();
    writeFileSync(join(home, 'private/memory/new.md'), 'x'.repeat(5_000_000));
    const start = (): Promise<number | null> =>
      new Promise((done) => {
        spawn(process.execPath, [PROGRAM, 'checkpoint'], { cwd: home, env: { ...process.env, PERDURE_HOST_DIR: a }, stdio: 'ignore' }).on(
          'exit',
          (code) => {
            done(code);
          },
        );
      });
    const codes = await Promise.all([start(), start(), start()]);
    expect(codes).toContain(0);
    for (const code of codes) expect([0, 11]).toContain(code);
    ok(['verify'], a, home);
    const kinds = (JSON.parse(ok(['log', '--json'], a, home).toString()) as { data: { records: { kind: string }[] } }).data.records.map(
      (one) => one.kind,
    );
    expect(kinds.filter((kind) => kind === 'checkpoint')).toHaveLength(2);
  });

  test('an unreadable file is named, and the checkpoint is incomplete', (context) => {
    // The superuser reads everything; another account must be able to reach the program.
    if (isRoot && spawnSync(process.execPath, [PROGRAM, '--version'], { cwd: '/', uid: 65534, gid: 65534 }).status !== 0) context.skip();
    const directory = temporary();
    chmodSync(directory, 0o777);
    const home = join(directory, 'ada');
    mkdirSync(home);
    nativeAgent(home);
    writeFileSync(join(home, 'private/memory/closed.md'), 'x', { mode: 0o000 });
    const root = process.getuid?.() === 0;
    if (root) {
      for (const path of execFileSync('find', [home]).toString().trim().split('\n'))
        if (!path.endsWith('closed.md')) chownSync(path, 65534, 65534);
    }
    const as = (argv: readonly string[]): ReturnType<typeof run> => {
      const options = {
        cwd: home,
        env: { ...process.env, PERDURE_HOST_DIR: join(directory, 'h') },
        ...(root ? { uid: 65534, gid: 65534 } : {}),
      };
      return spawnSync(process.execPath, [PROGRAM, ...argv], options);
    };
    expect(as(['init', '--no-recovery']).status).toBe(0);
    const done = as(['checkpoint']);
    expect(done.status).toBe(3);
    expect(done.stderr.toString()).toContain('FILE_UNREADABLE: private/memory/closed.md');
  });

  test('nothing here holds a message, a file name or a secret in clear', () => {
    const bytes = readFileSync(bundle).toString('latin1');
    for (const canary of ['canary-3f9a1c', 'note-1', 'chat.env', 'ada-body', shared.home]) expect(bytes).not.toContain(canary);
  });
});
