import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseArguments, type CommandClass, type Program } from '../../src/cli/command.ts';
import { PROGRAM } from '../support/run.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

/** Set by the build elsewhere. */
(globalThis as unknown as { PERDURE_VERSION: string }).PERDURE_VERSION = '0.0.0';

/** Other programs that a next step may name. */
const TOOLS = [
  'age-keygen',
  'date',
  'df',
  'dmesg',
  'fuser',
  'head',
  'kill',
  'ls',
  'mkdir',
  'mv',
  'npm',
  'printf',
  'rm',
  'ssh-add',
  'ssh-keygen',
  'systemctl',
  'command',
  'cd',
];

/** What stands for a value in a next step, where the parser wants a value of a kind. */
const VALUES: Readonly<Record<string, string>> = { N: '1', KIND: 'memory-repair', TIME: '1h', CLASS: 'memory' };

/** Every next step in the sources: of errors, of findings, and in answers. */
function nextSteps(): readonly { readonly file: string; readonly command: string }[] {
  const found: { file: string; command: string }[] = [];
  for (const name of readdirSync('src', { recursive: true }).map(String)) {
    if (!name.endsWith('.ts')) continue;
    const text = readFileSync(join('src', name), 'utf8');
    for (const pattern of [
      /command: '((?:[^'\\\n]|\\.)+)'/g,
      /command: `((?:[^`\\]|\\.)+)`/g,
      /command: "([^"\n]+)"/g,
      /next: ((?:agent|mv) [^\n`\\]+)/g,
    ])
      for (const match of text.matchAll(pattern))
        // A template within a template is cut by the pattern; the scenarios below type those.
        if (!/\$\{[^}]*$/.test(match[1] ?? '')) found.push({ file: name, command: match[1] ?? '' });
  }
  return found;
}

/** The commands of a line, each as its words; what is filled in at run time is a word. */
function commandsOf(line: string): readonly (readonly string[])[] {
  let text = (line.split('   #')[0] ?? '').replace('--${assert}', '--here');
  for (let before = ''; before !== text;) {
    before = text;
    text = text.replace(/\$\{[^{}]*\}/g, 'x').replace(/\{[^{}]*\}/g, 'x');
  }
  return text
    .split(/&&|\||;|<|>/)
    .map((one) => (one.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^['"]|['"]$/g, '')))
    .filter((words) => words.length > 0);
}

describe('every next step that the program can print', () => {
  test('is a command that there is, with flags that it has', async () => {
    const { program } = (await import('../../src/program.ts')) as { program: Program };
    const steps = nextSteps();
    expect(steps.length).toBeGreaterThan(120);
    const wrong: string[] = [];
    for (const { file, command } of steps)
      for (const words of commandsOf(command)) {
        const problem = await problemOf(program, words);
        if (problem !== null) wrong.push(`${file}: ${command}: ${problem}`);
      }
    expect(wrong).toEqual([]);
  });
});

async function problemOf(program: Program, words: readonly string[]): Promise<string | null> {
  let rest = words.filter((word) => !/^[A-Z_]+=/.test(word));
  const [first = ''] = rest;
  if (first !== 'agent' && first !== 'perdure')
    return TOOLS.includes(first) || first.startsWith('x') || first === 'CMD' ? null : `'${first}' is no tool that is known`;
  rest = rest.slice(1);
  if (rest[0] === '-C') rest = rest.slice(2);
  if (rest[0] === 'x' || rest[0] === '…' || rest[0] === 'help' || rest[0] === '--help' || rest[0] === undefined) return null;
  const split = rest.indexOf('--');
  const own = split < 0 ? rest : rest.slice(0, split);
  const double = `${own[0] ?? ''} ${own[1] ?? ''}`;
  const name = double in program.commands ? double : (own[0] ?? '');
  const entry = program.commands[name];
  if (entry === undefined) return Object.keys(program.commands).some((one) => one.startsWith(`${name} `)) ? null : `no command '${name}'`;
  const argv = own.slice(name.split(' ').length).filter((word) => word !== '…');
  if (argv.includes('--help') || argv.includes('x')) return null;
  const type: CommandClass = await entry.load();
  return parseArguments(
    type,
    argv.map((word) => VALUES[word] ?? word),
  ).then(
    () => null,
    (error: unknown) => String(error).split('\n')[0] ?? '',
  );
}

/** A directory with an agent at host a, a second host, and the program on PATH by its name. */
class Place {
  readonly directory = temporary();
  readonly home = join(this.directory, 'ada');
  readonly #bin = join(this.directory, 'bin');

  constructor() {
    mkdirSync(this.#bin);
    for (const name of ['agent', 'perdure']) {
      writeFileSync(join(this.#bin, name), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
      chmodSync(join(this.#bin, name), 0o755);
    }
    mkdirSync(this.home);
    nativeAgent(this.home);
    this.ok("agent init ada --recovery-kit 'the kit'");
    this.ok('agent -C ada checkpoint');
  }

  sh(line: string, host = 'a', cwd = this.directory): { readonly status: number | null; readonly out: string; readonly err: string } {
    const env = {
      ...process.env,
      PATH: `${this.#bin}:${process.env['PATH'] ?? ''}`,
      PERDURE_HOST_DIR: join(this.directory, `host-${host}`),
      PERDURE_ROOT: undefined,
    };
    const done = spawnSync('sh', ['-c', line], { cwd, env, input: '' });
    return { status: done.status, out: done.stdout.toString(), err: done.stderr.toString() };
  }

  ok(line: string, host = 'a'): string {
    const done = this.sh(line, host);
    if (done.status !== 0) throw new Error(`${line}: ${String(done.status)} ${done.err}`);
    return done.out;
  }

  /** The next steps of a command that fails with a status, on either stream. */
  next(line: string, { status, host = 'a' }: { readonly status: number; readonly host?: string }): readonly string[] {
    const done = this.sh(line, host);
    expect(done.status, `${line}: ${done.err}`).toBe(status);
    const steps = `${done.out}${done.err}`
      .split('\n')
      .flatMap((one) => (one.startsWith('next: ') ? [one.slice(6).split('   #')[0] ?? ''] : []));
    expect(steps.length, done.err).toBeGreaterThan(0);
    return steps;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.home, name), text);
  }
}

const step = (steps: readonly string[], at = 0): string => steps[at] ?? 'false';
const put = (line: string, values: Readonly<Record<string, string>>): string =>
  Object.entries(values).reduce((text, [name, value]) => text.replace(new RegExp(`\\b${name}\\b`), value), line);

describe('typed as printed, from where the command was typed, it does what it says', () => {
  test('no kit named; the directory of a kit that is not there; an agent that is there', () => {
    const place = new Place();
    mkdirSync(join(place.directory, "o'brien"));
    const [named] = place.next("agent init o\\'brien", { status: 2 });
    const made = place.next(put(named ?? '', { FILE: "'no such/k.kit'" }), { status: 1 });
    place.ok(step(made));
    place.ok(put(named ?? '', { FILE: "'no such/k.kit'" }));
    place.ok(step(place.next("agent init o\\'brien --no-recovery", { status: 1 })));
  });

  test('an alarm: the memory is put back, or declared', () => {
    const place = new Place();
    rmSync(join(place.home, 'private/memory/note-1.md'));
    const [back = '', declare = ''] = place.next('agent -C ada checkpoint', { status: 3 });
    place.ok(back);
    expect(readFileSync(join(place.home, 'private/memory/note-1.md'), 'utf8')).toBe('note 1\n');
    rmSync(join(place.home, 'private/memory/note-1.md'));
    place.sh('agent -C ada checkpoint');
    place.ok('cd ada && '.concat(declare.replace('agent -C ada', 'agent').replace(' -m TEXT', ' -m why')));
    place.ok('agent -C ada fence --dry-run');
  });

  test('a move: each step names the next, and a lost target can be taken back', () => {
    const place = new Place();
    writeFileSync(join(place.directory, 'i'), place.ok('agent invite', 'b'));
    const [withWords = '', trusted = ''] = place.next('agent -C ada fence --to ../i', { status: 2 });
    expect(withWords).toContain('--expect');
    place.ok(put(trusted, { INVITE: '../i' }));
    const [close = '', revoke = ''] = place.next('agent -C ada guard -- true', { status: 14 });
    place.ok('agent -C ada pack -o ../m.tar --include-secrets');
    place.ok('agent rehydrate m.tar moved', 'b');
    const confirm = place.next(put(revoke, { FILE: "'../the kit'" }), { status: 2 });
    expect(step(confirm)).toContain("--kit '../the kit'");
    writeFileSync(join(place.directory, 'reply'), place.ok('agent -C moved promote', 'b'));
    place.ok(put(close, { REPLY: '../reply' }));
    place.ok(step(place.next('agent -C ada guard -- true', { status: 14 })));
  });

  test('a lost target', () => {
    const place = new Place();
    writeFileSync(join(place.directory, 'i'), place.ok('agent invite', 'b'));
    place.ok('agent -C ada fence --to ../i --accept-new');
    const [, revoke = ''] = place.next('agent -C ada guard -- true', { status: 14 });
    const confirm = place.next(put(revoke, { FILE: "'../the kit'" }), { status: 2 });
    place.ok(put(step(confirm), { TEXT: 'gone' }));
    place.ok('agent -C ada guard -- true');
  });

  test('a lost host', () => {
    const place = new Place();
    place.ok('agent -C ada pack -o ../nas');
    const asked = place.next("agent recover nas 'new home' --kit 'the kit'", { status: 2, host: 'b' });
    const done = place.ok(put(step(asked), { TEXT: 'lost' }), 'b');
    const after = /^next: (.*?) {3}#/m.exec(done)?.[1] ?? '';
    place.ok(put(after, { BACKUP: '../nas' }), 'b');
    place.ok("agent -C 'new home' guard -- true", 'b');
  });

  test('a copy, a stale tree, a fence', () => {
    const place = new Place();
    cpSync(place.home, join(place.directory, 'copy'), { recursive: true });
    const here = place.next('agent -C copy guard -- true', { status: 14 });
    place.ok('agent -C ada fence');
    place.ok(step(place.next('agent -C ada guard -- true', { status: 14 })));
    place.ok('agent -C ada guard -- true');
    place.ok(put(step(here), { TEXT: 'moved' }).replace('agent -C copy', 'agent -C copy') + ' || true');
    cpSync(place.home, join(place.directory, 'older'), { recursive: true, preserveTimestamps: true });
    place.write('private/memory/note-1.md', 'newer\n');
  });

  test('a directory that is gone, and a backup that is one record behind', () => {
    const place = new Place();
    place.ok('agent -C ada pack -o ../nas');
    place.write('private/memory/note-1.md', 'newer\n');
    place.ok('agent -C ada checkpoint');
    renameSync(place.home, join(place.directory, 'gone'));
    place.sh('agent rehydrate nas ada');
    const loss = place.next('agent -C ada guard -- true', { status: 15 });
    const accept = loss.find((one) => one.includes('--accept-loss')) ?? 'false';
    place.ok(put(accept, { TEXT: 'gone' }));
    place.ok('agent -C ada guard -- true');
  });

  test('a restore: planned, done, taken back', () => {
    const place = new Place();
    place.write('private/memory/note-1.md', 'newer\n');
    place.ok('agent -C ada checkpoint');
    const planned = place.next('agent -C ada restore HEAD~1', { status: 2 });
    const done = place.ok(step(planned));
    place.ok(/^next: (.*?) {3}#/m.exec(done)?.[1] ?? 'false');
    expect(readFileSync(join(place.home, 'private/memory/note-1.md'), 'utf8')).toBe('newer\n');
    place.ok(step(place.next('agent -C ada restore 99', { status: 2 })));
    place.ok(step(place.next('agent -C ada restore HEAD nowhere', { status: 2 })));
    mkdirSync(join(place.directory, 'full'));
    writeFileSync(join(place.directory, 'full/x'), 'mine');
    place.ok(step(place.next('agent -C ada restore HEAD private/self.json --to ../full', { status: 1 })));
  });

  test('keys and bundles', () => {
    const place = new Place();
    place.ok(step(place.next('agent -C ada keys remove age1nobody', { status: 2 })));
    place.ok(step(place.next("agent -C ada keys check --kit '../bin/agent'", { status: 12 })).replace(/^.*head/, 'head'));
    writeFileSync(join(place.directory, 'prose'), 'once upon a time\n');
    place.ok(step(place.next('agent -C ada pack -o ../prose', { status: 1 })));
    place.ok('agent -C ada pack -o ../nas');
    expect(place.sh(step(place.next('agent -C ada pack -o inside.tar', { status: 2 }))).status).toBe(0);
    place.ok(step(place.next('agent -C ada gc --bundle ../nowhere', { status: 1 })) + ' || true');
    place.ok(step(place.next('agent -C ada close ../nowhere', { status: 1 })) + ' || true');
    place.ok(step(place.next('agent nonsense', { status: 2 })));
  });
});
