import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { has } from '../support/tools.ts';
import { listing } from '../support/tree.ts';
import { afterMove, copyOf, makeStage, move, profileTest, rehome, takeAway, unwell, type Stage, type Tested } from './hosts.ts';
import { callsNaming, jsonLines, runProgram, startModel, type Model } from './program.ts';
import { installed } from './programs.ts';

let codex: string;
let model: Model;
let stage: Stage;
let thread: string;
let tested: Tested;
/** A home that holds what came to b as it came. */
let asItCame: string;

beforeAll(async () => {
  codex = installed('codex');
  stage = makeStage();
  model = await startModel(join(stage.between, 'requests.jsonl'));
  const { a, b, between } = stage;
  asItCame = join(between, 'as-it-came');
  mkdirSync(join(a.home, '.codex'));
  writeFileSync(join(a.home, '.codex/config.toml'), configOf(a.home));
  writeFileSync(join(a.home, '.codex/AGENTS.md'), 'Be brief. kept:brief\n');
  const first = await turn(a.home, [], '#tide The harbour closes at six. kept:harbour-six');
  thread = first.thread;
  const second = await turn(a.home, ['resume', thread], '#knot CALL=exec_command {"cmd":"printf kept:%s $(echo loot | rev)"}');
  expect(second.said).toBe('turn=2 tags=#tide,#knot kept=brief,harbour-six,tool');
  tested = profileTest(a, join(a.home, '.codex'));
  move(stage, '.codex', 'codex');
  copyOf(join(b.home, '.codex'), join(asItCame, '.codex'));
});

afterAll(() => {
  model.stop();
  stage.remove();
});

test('a rule knows each path that Codex makes', () => {
  expect(tested.profile).toBe('codex');
  expect(tested.unclassified).toEqual([]);
  const classOf = (pattern: RegExp): readonly string[] => tested.paths.filter(({ path }) => pattern.test(path)).map((one) => one.class);
  expect(classOf(/^sessions\/.*\.jsonl$/)).toEqual(['memory']);
  expect(classOf(/^state_\d+\.sqlite$/)).toEqual(['workflow']);
  expect(classOf(/^installation_id$/)).toEqual(['host']);
});

test('as it came, Codex finds none of its sessions in the new place, and begins anew without a word', async () => {
  const restore = takeAway(stage.a);
  expect(await threadsOf(asItCame)).toEqual([]);
  const byId = await turn(asItCame, ['resume', thread], '#back');
  expect(byId).toMatchObject({ status: 1, stderr: expect.stringContaining('no rollout found') as string });
  const last = await turn(asItCame, ['resume', '--last'], '#back');
  expect(last).toMatchObject({ status: 0, said: 'turn=1 tags=#back kept=brief' });
  restore();
});

test('at home in the new place, Codex lists its session, goes on with it and knows what was said', async () => {
  const { a, b } = stage;
  expect(rehome(b, join(b.home, '.codex'))).toMatchObject({ unwritten: [] });
  const before = listing(a.home);
  const restore = takeAway(a);
  const [found] = await threadsOf(b.home);
  expect(found).toMatchObject({ id: thread, cwd: projectOf(b.home) });
  expect(found?.path).toMatch(new RegExp(`^${b.home}/\\.codex/sessions/.*${thread}\\.jsonl$`));
  // Where a sandbox could write stands in the state too: the new project, and none of the old host.
  const back = await turn(b.home, ['resume', '--last'], '#back CALL=exec_command {"cmd":"touch note.txt"}');
  expect(back).toMatchObject({ status: 0, thread, said: 'turn=3 tags=#tide,#knot,#back kept=brief,harbour-six,tool' });
  expect(existsSync(join(projectOf(b.home), 'note.txt'))).toBe(true);
  restore();
  expect(listing(a.home)).toBe(before);
});

test('at home in the new place, Codex is as new as what wrote its sessions, and they are here', () => {
  const { a, b } = stage;
  const restore = takeAway(a);
  const asked = { program: 'codex', runs: [codex], find: 'The harbour closes at six' };
  expect(unwell(afterMove(b, join(b.home, '.codex'), asked))).toEqual([expect.stringContaining("variable 'FAKE_KEY'")]);
  const lines = afterMove(b, join(b.home, '.codex'), { ...asked, env: { FAKE_KEY: 'canary' } });
  expect(unwell(lines)).toEqual([]);
  expect(lines.get('needs')?.text).toContain('codex');
  expect(lines.get('recalls')?.text).toMatch(/sessions\/.*\.jsonl/);
  restore();
});

test.skipIf(!has('strace'))('at home in the new place, Codex looks at nothing of the old home', async () => {
  const { a, b, between } = stage;
  const trace = join(between, 'trace');
  const again = await turn(b.home, ['resume', thread], '#again', trace);
  expect(again).toMatchObject({ status: 0, said: expect.stringMatching(/^turn=4 .*harbour-six/) as string });
  expect(callsNaming(b.home, trace).length).toBeGreaterThan(0);
  expect(callsNaming(a.home, trace)).toEqual([]);
});

// Codex tells its model what differs from what it was told before, so that what it was told is not rewritten.
test('at home in the new place, the model is told of its working directory', () => {
  expect(model.lastRequest('/responses').includes(`<cwd>${projectOf(stage.b.home)}</cwd>`)).toBe(true);
});

interface Turn {
  readonly status: number | null;
  readonly thread: string;
  readonly said: string;
  readonly stderr: string;
}

async function turn(home: string, resume: readonly string[], prompt: string, trace?: string): Promise<Turn> {
  const argv = [codex, 'exec', '--skip-git-repo-check', '-C', projectOf(home), ...resume, '--json', prompt];
  const { status, stdout, stderr } = await runProgram(argv, { ...inHome(home), ...(trace === undefined ? {} : { trace }) });
  const events = jsonLines(stdout) as readonly { thread_id?: string; item?: { type: string; text?: string } }[];
  const said = events.flatMap(({ item }) => (item?.type === 'agent_message' ? [item.text ?? ''] : []));
  return { status, thread: events.find((one) => one.thread_id !== undefined)?.thread_id ?? '', said: said.at(-1) ?? '', stderr };
}

interface Thread {
  readonly id: string;
  readonly path: string;
  readonly cwd: string;
}

/** The sessions that Codex lists, by its own protocol. */
async function threadsOf(home: string): Promise<readonly Thread[]> {
  const asked = [
    { id: 1, method: 'initialize', params: { clientInfo: { name: 'test', title: 'test', version: '1' } } },
    { method: 'initialized' },
    { id: 2, method: 'thread/list', params: { modelProviders: [], sourceKinds: ['exec', 'cli'] } },
  ];
  const input = asked.map((one) => `${JSON.stringify(one)}\n`).join('');
  const { stdout } = await runProgram([codex, 'app-server'], { ...inHome(home), input, until: '"id":2' });
  const answers = jsonLines(stdout) as readonly { id?: number; result?: { data?: readonly Thread[] } }[];
  return answers.find(({ id }) => id === 2)?.result?.data ?? [];
}

function inHome(home: string): { readonly home: string; readonly cwd: string; readonly env: Record<string, string> } {
  return { home, cwd: projectOf(home), env: { FAKE_KEY: 'canary' } };
}

function projectOf(home: string): string {
  return join(home, 'work/tide_project');
}

function configOf(home: string): string {
  return `model = "fake-model"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "workspace-write"

[model_providers.fake]
name = "fake"
base_url = "${model.url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false

[analytics]
enabled = false

[projects."${projectOf(home)}"]
trust_level = "trusted"
`;
}
