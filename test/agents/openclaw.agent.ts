import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { has } from '../support/tools.ts';
import { checkedOutput } from '../support/output.ts';
import { listing } from '../support/tree.ts';
import { afterMove, copyOf, makeStage, move, perdure, profileTest, rehome, takeAway, unwell, type Stage, type Tested } from './hosts.ts';
import { callsNaming, runProgram, startModel, type Ended, type Model } from './program.ts';
import { installed } from './programs.ts';

let openclaw: readonly string[];
let model: Model;
let stage: Stage;
let session: string;
let port: number;
let tested: Tested;
/** A home that holds what came to b as it came. */
let asItCame: string;

beforeAll(async () => {
  openclaw = [installed('node-24'), installed('openclaw')];
  stage = makeStage();
  model = await startModel(join(stage.between, 'requests.jsonl'));
  const { a, b, between } = stage;
  asItCame = join(between, 'as-it-came');
  port = await freePort();
  await onboard(a.home);
  ({ session } = await turn(a.home, '#tide The harbour closes at six. kept:harbour-six'));
  const last = await turn(a.home, '#memory CALL=write {"path":"MEMORY.md","content":"kept:long-term\\n"}');
  expect(last.said).toBe('turn=2 tags=#tide,#memory kept=harbour-six,long-term');
  await withGateway(a.home, () => done(a.home, ['cron', 'add', '--name', 'tide', '--every', '1h', '--message', '#cron look']));
  tested = profileTest(a, join(a.home, '.openclaw'));
  move(stage, '.openclaw', 'openclaw');
  copyOf(join(b.home, '.openclaw'), join(asItCame, '.openclaw'));
});

afterAll(() => {
  model.stop();
  stage.remove();
});

test('a rule knows each path that OpenClaw makes', () => {
  expect(tested.profile).toBe('openclaw');
  expect(tested.unclassified).toEqual([]);
  const classOf = (pattern: RegExp): readonly string[] => tested.paths.filter(({ path }) => pattern.test(path)).map((one) => one.class);
  expect(classOf(/^agents\/main\/agent\/openclaw-agent\.sqlite$/)).toEqual(['memory']);
  expect(classOf(/^state\/openclaw\.sqlite$/)).toEqual(['workflow']);
  expect(classOf(/^workspace\/(IDENTITY|SOUL)\.md$/)).toEqual(['identity', 'identity']);
  expect(new Set(classOf(/^cache\/|reindex|generation-/))).toEqual(new Set(['volatile']));
});

test('as it came, OpenClaw looks for its workspace in the old place, and stops', async () => {
  const restore = takeAway(stage.a);
  const { status, stdout } = await inHome(asItCame, turnOf('#back'));
  expect(status).not.toBe(0);
  expect(stdout).toContain(`${stage.a.home}/.openclaw/workspace`);
  restore();
});

test('at home in the new place, OpenClaw lists its session, goes on with it and knows what was said', async () => {
  const { a, b } = stage;
  const root = join(b.home, '.openclaw');
  expect(rehome(b, root)).toMatchObject({ unwritten: [] });
  const before = listing(a.home);
  const restore = takeAway(a);
  const listed = JSON.parse(await done(b.home, ['sessions', '--json'])) as {
    readonly sessions: readonly { readonly key: string }[];
  };
  expect(listed.sessions.map(({ key }) => key)).toContain('agent:main:harbour');
  const back = await turn(b.home, '#back CALL=write {"path":"came.txt","content":"here\\n"}');
  expect(back).toEqual({ session, said: 'turn=3 tags=#tide,#memory,#back kept=harbour-six,long-term' });
  expect(existsSync(join(root, 'workspace/came.txt'))).toBe(true);
  expect(existsSync(join(root, 'workspace/BOOTSTRAP.md'))).toBe(false);
  restore();
  expect(listing(a.home)).toBe(before);
});

test.skipIf(!has('sqlite3'))('at home in the new place, OpenClaw itself says that it woke up', () => {
  const { a, b } = stage;
  const restore = takeAway(a);
  const lines = afterMove(b, join(b.home, '.openclaw'), { program: 'openclaw', runs: openclaw, find: 'kept:long-term', env: ENVIRONMENT });
  expect(unwell(lines)).toEqual([]);
  expect(lines.get('needs')?.text).toContain('openclaw: here');
  expect(lines.get('program')?.text).toMatch(/config validate.*preflight.*preflight-agent.*: well/);
  expect(lines.get('recalls')?.text).toContain('workspace/MEMORY.md');
  expect(lines.get('sessions')?.text).toMatch(/^[1-9]/);
  restore();
});

test.skipIf(!has('strace'))('at home in the new place, OpenClaw looks at nothing of the old home', async () => {
  const { a, b, between } = stage;
  const trace = join(between, 'trace');
  const again = await turn(b.home, '#again', trace);
  expect(again.said).toMatch(/^turn=4 .*harbour-six/);
  expect(callsNaming(b.home, trace).length).toBeGreaterThan(0);
  expect(callsNaming(a.home, trace)).toEqual([]);
});

test.skipIf(!has('sqlite3'))('a schedule waits until it is released, and then is the same in the new place', async () => {
  const { b } = stage;
  const root = join(b.home, '.openclaw');
  const jobs = (): string =>
    execFileSync('sqlite3', [join(root, 'state/openclaw.sqlite'), "SELECT name FROM cron_jobs WHERE name = 'tide'"]).toString();
  expect(jobs()).toBe('');
  perdure(b, ['-C', root, 'release']);
  expect(jobs()).toBe('tide\n');
  const restore = takeAway(stage.a);
  await withGateway(b.home, async () => {
    const { jobs: found } = JSON.parse(await done(b.home, ['cron', 'list', '--json'])) as {
      readonly jobs: readonly { readonly name: string }[];
    };
    expect(found.map(({ name }) => name)).toContain('tide');
    // While the gateway has its databases open, each is recorded whole.
    const { facts } = checkedOutput(perdure(b, ['-C', root, 'show', '--json'])).data as Shown;
    const { length } = facts.databases;
    perdure(b, ['-C', root, 'checkpoint']);
    const now = (checkedOutput(perdure(b, ['-C', root, 'show', '--json'])).data as Shown).facts;
    expect(length).toBeGreaterThan(2);
    expect(now.databases.filter(({ check }) => check !== 'ok')).toEqual([]);
    expect(now.findings).toEqual([]);
  });
  restore();
});

test('as it came, and with the old home in reach, OpenClaw writes there', async () => {
  const { a } = stage;
  await turn(asItCame, '#stray CALL=write {"path":"stray.txt","content":"there\\n"}');
  expect(existsSync(join(a.home, '.openclaw/workspace/stray.txt'))).toBe(true);
  expect(existsSync(join(asItCame, '.openclaw/workspace/stray.txt'))).toBe(false);
});

interface Shown {
  readonly facts: { readonly databases: readonly { readonly check: string }[]; readonly findings: readonly unknown[] };
}

interface Turn {
  readonly session: string;
  readonly said: string;
}

async function turn(home: string, prompt: string, trace?: string): Promise<Turn> {
  const { meta } = JSON.parse(await done(home, turnOf(prompt), trace)) as {
    readonly meta: { readonly finalAssistantVisibleText: string; readonly agentMeta: { readonly sessionId: string } };
  };
  return { session: meta.agentMeta.sessionId, said: meta.finalAssistantVisibleText };
}

function turnOf(prompt: string): readonly string[] {
  return ['agent', '--local', '--json', '--session-key', 'agent:main:harbour', '--message', prompt];
}

/** What OpenClaw prints; throws where it fails. */
async function done(home: string, argv: readonly string[], trace?: string): Promise<string> {
  const { status, stdout, stderr } = await inHome(home, argv, trace);
  if (status !== 0) throw new Error(`openclaw ${argv.join(' ')} ended with ${String(status)}:\n${stderr}${stdout}`);
  return stdout;
}

function inHome(home: string, argv: readonly string[], trace?: string): Promise<Ended> {
  return runProgram([...openclaw, ...argv], { home, cwd: home, env: ENVIRONMENT, ...(trace === undefined ? {} : { trace }) });
}

const ENVIRONMENT = { NO_COLOR: '1', OPENCLAW_NO_AUTO_UPDATE: '1' };

/** The first steps as a person takes them; they write absolute paths of the workspace and of the agent into the config. */
async function onboard(home: string): Promise<void> {
  const provider = ['--auth-choice', 'custom-api-key', '--custom-provider-id', 'fake', '--custom-base-url', `${model.url}/v1`];
  const key = ['--custom-model-id', 'fake-model', '--custom-api-key', 'canary'];
  const gateway = ['--gateway-auth', 'token', '--gateway-token', 'canary', '--gateway-bind', 'loopback', '--gateway-port', String(port)];
  const skipped = ['daemon', 'health', 'ui', 'channels', 'skills', 'search'].map((one) => `--skip-${one}`);
  const argv = ['onboard', '--non-interactive', '--accept-risk', '--mode', 'local', ...provider, ...key, ...gateway, ...skipped, '--json'];
  await done(home, argv);
}

/** Does something while the gateway runs, and waits for its end. */
async function withGateway(home: string, action: () => Promise<unknown>): Promise<void> {
  const [node = '', ...script] = openclaw;
  const env = { ...ENVIRONMENT, HOME: home, PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}` };
  const child = spawn(node, [...script, 'gateway', 'run'], { cwd: home, env, detached: true, stdio: 'ignore' });
  const ended = once(child, 'exit');
  try {
    for (let left = 240; !(await isOpen(port)); left--) {
      if (left === 0 || child.exitCode !== null) throw new Error(`the gateway does not listen; it ended with ${String(child.exitCode)}`);
      await setTimeout(500);
    }
    await action();
  } finally {
    child.kill('SIGTERM');
    await Promise.race([ended, setTimeout(30_000, null, { ref: false })]);
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await ended;
  }
}

async function isOpen(at: number): Promise<boolean> {
  const socket = connect(at, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as AddressInfo;
  server.close();
  return free;
}
