import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { has } from '../support/tools.ts';
import { listing } from '../support/tree.ts';
import { afterMove, copyOf, makeStage, move, profileTest, rehome, takeAway, unwell, type Stage, type Tested } from './hosts.ts';
import { callsNaming, jsonLines, runProgram, startModel, type Model } from './program.ts';
import { installed } from './programs.ts';

const SESSION = '3f9a1c00-0000-4000-8000-000000000001';

let claude: string;
let model: Model;
let stage: Stage;
let tested: Tested;
/** A home that holds what came to b as it came. */
let asItCame: string;

beforeAll(async () => {
  claude = installed('claude-code');
  stage = makeStage();
  model = await startModel(join(stage.between, 'requests.jsonl'));
  const { a, b, between } = stage;
  asItCame = join(between, 'as-it-came');
  mkdirSync(join(a.home, '.claude'));
  writeFileSync(join(a.home, '.claude/CLAUDE.md'), 'Be brief. kept:brief\n');
  writeFileSync(join(a.home, '.claude/settings.json'), JSON.stringify({ permissions: { additionalDirectories: [join(a.home, 'notes')] } }));
  const written = (path: string, content: string): string => JSON.stringify({ file_path: path, content });
  const memory = join(a.home, '.claude/projects', slugOf(projectOf(a.home)), 'memory/MEMORY.md');
  const prompts = [
    '#tide The harbour closes at six. kept:harbour-six',
    '#knot CALL=Bash {"command":"printf kept:%s $(echo loot | rev)","description":"look"}',
    `#note CALL=Write ${written(join(projectOf(a.home), 'note.txt'), 'one\n')}`,
    `#memory CALL=Write ${written(memory, 'kept:auto-memory\n')}`,
    '#task CALL=TaskCreate {"subject":"look","description":"look","activeForm":"looking"}',
    '#agent CALL=Agent {"description":"look","prompt":"#inner look","subagent_type":"general-purpose"}',
    '#long CALL=Bash {"command":"seq 1 20000","description":"look"}',
  ];
  let said = '';
  for (const [at, prompt] of prompts.entries())
    ({ said } = await turn(a.home, at === 0 ? ['--session-id', SESSION] : ['--resume', SESSION], prompt));
  expect(said).toMatch(/^turn=7 .* kept=auto-memory,brief,harbour-six,tool$/);
  tested = profileTest(a, join(a.home, '.claude'));
  move(stage, '.claude', 'claude-code');
  copyOf(join(b.home, '.claude'), join(asItCame, '.claude'));
});

afterAll(() => {
  model.stop();
  stage.remove();
});

test('a rule knows each path that Claude Code makes', () => {
  expect(tested.profile).toBe('claude-code');
  expect(tested.unclassified).toEqual([]);
  const classOf = (pattern: RegExp): readonly string[] => tested.paths.filter(({ path }) => pattern.test(path)).map((one) => one.class);
  expect(classOf(/^projects\/[^/]+\/[^/]+\.jsonl$/)).toEqual(['memory']);
  expect(classOf(/^projects\/[^/]+\/memory\/MEMORY\.md$/)).toEqual(['memory']);
  expect(classOf(/\/subagents\/.*\.jsonl$/)).toEqual(['memory']);
  expect(classOf(/\/tool-results\/.*\.txt$/)).toEqual(['artifact']);
  expect(classOf(/^tasks\/.*\.json$/)).toEqual(['workflow']);
});

test('as it came, Claude Code does not find its session in the new place, and begins anew without a word and without its memory', async () => {
  const restore = takeAway(stage.a);
  expect(await turn(asItCame, ['--resume', SESSION], '#back')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('No conversation found') as string,
  });
  expect(await turn(asItCame, ['--continue'], '#back')).toMatchObject({ status: 0, said: 'turn=1 tags=#back kept=brief' });
  restore();
});

test('at home in the new place, Claude Code goes on with its session, and knows what was said and what it wrote down', async () => {
  const { a, b } = stage;
  const result = rehome(b, join(b.home, '.claude'));
  const [from, to] = [a, b].map(({ home }) => `projects/${slugOf(projectOf(home))}`);
  expect(result).toMatchObject({ unwritten: [], renames: [{ from, to }] });
  const before = listing(a.home);
  const restore = takeAway(a);
  const back = await turn(b.home, ['--continue'], '#back CALL=Bash {"command":"touch came.txt","description":"look"}');
  expect(back).toMatchObject({ status: 0, session: SESSION });
  expect(back.said).toMatch(/^turn=8 .*#back kept=auto-memory,brief,harbour-six,tool$/);
  expect(readdirSync(projectOf(b.home))).toEqual(['came.txt']);
  // A session that is new knows what is written in the memory of the project alone.
  expect(await turn(b.home, [], '#new')).toMatchObject({ status: 0, said: 'turn=1 tags=#new kept=auto-memory,brief' });
  restore();
  expect(listing(a.home)).toBe(before);
});

test('at home in the new place, Claude Code is as new as what wrote its sessions, and has a credential', () => {
  const { a, b } = stage;
  const restore = takeAway(a);
  const asked = { program: 'claude', runs: [claude], find: 'kept:auto-memory' };
  const lines = afterMove(b, join(b.home, '.claude'), { ...asked, env: { ANTHROPIC_API_KEY: 'canary' } });
  expect(unwell(lines)).toEqual([]);
  expect(lines.get('needs')?.text).toContain('claude');
  expect(lines.get('recalls')?.text).toContain('memory/MEMORY.md');
  expect(unwell(afterMove(b, join(b.home, '.claude'), { ...asked, env: { ANTHROPIC_API_KEY: '' } }))).toEqual([
    expect.stringContaining("keychain item 'Claude Code-credentials'"),
  ]);
  restore();
});

test.skipIf(!has('strace'))('at home in the new place, Claude Code looks at nothing of the old home', async () => {
  const { a, b, between } = stage;
  const trace = join(between, 'trace');
  const again = await turn(b.home, ['--resume', SESSION], '#again', trace);
  expect(again).toMatchObject({ status: 0, said: expect.stringMatching(/^turn=9 .*harbour-six/) as string });
  expect(callsNaming(b.home, trace).length).toBeGreaterThan(0);
  expect(callsNaming(a.home, trace)).toEqual([]);
});

// It fails while a path that leads through the directory of a project is rewritten by the root alone, and that directory is renamed.
test('at home in the new place, what Claude Code set aside of a long output is where the session says', () => {
  const { b } = stage;
  const session = join(b.home, '.claude/projects', slugOf(projectOf(b.home)), `${SESSION}.jsonl`);
  const said = [...readFileSync(session, 'utf8').matchAll(/"persistedOutputPath":"([^"]*)"/g)].map(([, path = '']) => path);
  expect(said.map((path) => [path, existsSync(path)])).toEqual([[expect.stringContaining(b.home), true]]);
});

interface Turn {
  readonly status: number | null;
  readonly session: string;
  readonly said: string;
  readonly stderr: string;
}

async function turn(home: string, session: readonly string[], prompt: string, trace?: string): Promise<Turn> {
  const argv = [
    claude,
    '-p',
    '--output-format',
    'json',
    '--permission-mode',
    'acceptEdits',
    '--allowedTools',
    'Bash',
    ...session,
    '--',
    prompt,
  ];
  const env = {
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'canary',
    ANTHROPIC_MODEL: 'fake-model',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CODE_MAX_RETRIES: '1',
    DISABLE_AUTOUPDATER: '1',
    IS_SANDBOX: '1',
  };
  const run = { home, cwd: projectOf(home), env, ...(trace === undefined ? {} : { trace }) };
  const { status, stdout, stderr } = await runProgram(argv, run);
  const [ended] = jsonLines(stdout) as readonly { result?: string; session_id?: string }[];
  return { status, session: ended?.session_id ?? '', said: ended?.result ?? '', stderr };
}

function projectOf(home: string): string {
  return join(home, 'work/tide_project.v2');
}

/** How Claude Code names the directory of a project. */
function slugOf(path: string): string {
  return path.replace(/[^A-Za-z0-9]/g, '-');
}
