import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { afExport, type AfExported } from '../../src/actions/af-export.ts';
import { afImport, type AfImported } from '../../src/actions/af-import.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { init } from '../../src/actions/init.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { CURRENT, SHAPES } from '../support/agent-files.ts';
import { adopted } from '../support/agent.ts';
import { at, testHost } from '../support/host.ts';
import { checkedOutput } from '../support/output.ts';
import { temporary } from '../support/tree.ts';

interface Place {
  readonly directory: string;
  readonly ports: Ports;
  readonly home: string;
}

async function imported(text: string | Buffer): Promise<Place & { readonly result: AfImported }> {
  const directory = temporary();
  const ports = testHost(directory, 'a', { root: directory });
  writeFileSync(join(directory, 'mira.af'), text);
  const result = await afImport(ports, { file: 'mira.af', directory: 'mira' });
  return { directory, ports, home: join(directory, 'mira'), result };
}

async function exported(ports: Ports, options: Partial<Parameters<typeof afExport>[1]> = {}): Promise<AfExported> {
  return afExport(ports, { directory: undefined, from: undefined, output: null, ...options });
}

const shape = (name: string): string => SHAPES[name] ?? '';
const plain = shape('indented by two');

describe('af import', () => {
  test('writes the native layout, which init takes for one, and says what a person must know', async () => {
    const { directory, ports, home, result } = await imported(plain);
    expect(readFileSync(join(home, 'private/memory/persona.md'), 'utf8')).toBe('I am Mira.\n');
    expect(readFileSync(join(home, 'body/tools/lookup.py'), 'utf8')).toContain('def lookup');
    expect(statSync(join(home, 'private/memory/persona.md')).mode & 0o777).toBe(0o600);
    expect(readdirSync(directory).sort()).toEqual(['mira', 'mira.af']);
    expect(result).toMatchObject({
      files: 17,
      agents: ['Mira'],
      renamed: [],
      kept: [],
      secrets: ['GARDEN_KEY', 'WEATHER_KEY'],
      withValues: false,
    });
    checkedOutput(JSON.stringify({ ok: true, command: 'af import', data: result }));
    const { profile, survey } = await init(ports, { directory: home, recovery: null });
    expect(profile).toBe('native');
    expect(survey.unclassified.count).toBe(0);
    expect(Object.fromEntries([...survey.classes].map(([kind, { files }]) => [kind, files]))).toEqual({
      artifact: 1,
      body: 5,
      config: 4,
      identity: 1,
      memory: 3,
      secret: 1,
      workflow: 2,
    });
  });

  test('takes an empty directory, and no other', async () => {
    const directory = temporary();
    const ports = testHost(directory, 'a', { root: directory });
    writeFileSync(join(directory, 'x.af'), plain);
    mkdirSync(join(directory, 'empty'));
    await afImport(ports, { file: 'x.af', directory: 'empty' });
    await expect(afImport(ports, { file: 'x.af', directory: 'empty' })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await expect(afImport(ports, { file: 'x.af', directory: 'x.af' })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    symlinkSync('nowhere', join(directory, 'link'));
    await expect(afImport(ports, { file: 'x.af', directory: 'link' })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await init(ports, { directory: join(directory, 'empty'), recovery: null });
    await expect(afImport(ports, { file: 'x.af', directory: 'empty/artifacts/x' })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
  });

  test.each([
    ['no JSON', '{"agents":[{"name":"x"}', 'AF_DAMAGED'],
    ['two documents at once', `${plain}${plain}`, 'AF_DAMAGED'],
    ['something else', '{"package":"x"}', 'AF_DAMAGED'],
    ['a list', '[]', 'AF_DAMAGED'],
    ['no agent', '{"agents":[]}', 'AF_DAMAGED'],
    ['agents that are none', '{"agents":["x"]}', 'AF_DAMAGED'],
    ['a nest without end', '['.repeat(100_000), 'AF_DAMAGED'],
    ['bytes that are no text', Buffer.from([0x7b, 0xff, 0x7d]), 'AF_DAMAGED'],
    ['nothing', '', 'AF_DAMAGED'],
  ])('refuses %s, says what to do, and leaves nothing', async (_, text, code) => {
    const directory = temporary();
    const ports = testHost(directory, 'a', { root: directory });
    writeFileSync(join(directory, 'x.af'), text);
    await expect(afImport(ports, { file: 'x.af', directory: 'mira' })).rejects.toMatchObject({
      code,
      hints: [{ command: expect.any(String) as string }],
    });
    await expect(afImport(ports, { file: 'gone.af', directory: 'mira' })).rejects.toMatchObject({ code: 'FILE_MISSING' });
    expect(readdirSync(directory)).toEqual(['x.af']);
  });

  test('leaves nothing where writing fails', async () => {
    const directory = temporary();
    writeFileSync(join(directory, 'x.af'), plain);
    const ports = testHost(directory, 'a', {
      root: directory,
      before: (what, path) => {
        if (what === 'rename' && path.endsWith('persona.md')) throw new Error('stop');
      },
    });
    await expect(afImport(ports, { file: 'x.af', directory: 'mira' })).rejects.toThrow('stop');
    expect(readdirSync(directory)).toEqual(['x.af']);
  });

  test('never leaves the directory, whatever the names in the file are', async () => {
    const names = [
      '../../out',
      '/etc/out',
      '..',
      '.',
      '',
      'a/../../out',
      'A',
      'a',
      'A/b',
      'a/B',
      '.git/config',
      '.perdure/format',
      'x\0y',
      'q.pid',
      'n'.repeat(400),
      '\u202egpj.exe',
      'a\\b',
    ];
    const text = JSON.stringify({
      ...CURRENT,
      blocks: names.map((label, id) => ({ label, value: label, id: `block-${String(id)}` })),
      tools: names.map((name, id) => ({ name, source_code: name, id: `tool-${String(id)}` })),
      skills: names.map((name) => ({ name, files: Object.fromEntries(names.map((path) => [path, path])) })),
      files: names.map((file_name, id) => ({ file_name, content: file_name, source_id: 'source-0', id: `file-${String(id)}` })),
      sources: [{ name: '../..', id: 'source-0' }],
      agents: names
        .slice(0, 6)
        .map((name, id) => ({ ...CURRENT.agents[0], name, id: `agent-${String(id)}`, tool_exec_environment_variables: {} })),
    });
    const { directory, ports, home } = await imported(text);
    expect(readdirSync(directory).sort()).toEqual(['mira', 'mira.af']);
    expect(existsSync('/etc/out')).toBe(false);
    const all = readdirSync(home, { recursive: true }) as string[];
    expect(all.filter((path) => /(^|\/)\.(git|perdure)$/i.test(path))).toEqual([]);
    const folded = all.map((path) => path.normalize('NFC').toLowerCase());
    expect(new Set(folded).size).toBe(folded.length);
    expect((await exported(ports, { directory: 'mira' })).text).toBe(text);
    await init(ports, { directory: home, recovery: null });
    await checkpoint(at(ports, home));
    expect((await exported(at(ports, home), { from: 'HEAD' })).text).toBe(text);
  });

  test('takes values of secrets out, where the file has some', async () => {
    const [agent] = CURRENT.agents;
    const leaky = JSON.stringify({
      ...CURRENT,
      agents: [{ ...agent, tool_exec_environment_variables: { GARDEN_KEY: 'canary-1' }, secrets: [{ key: 'OTHER', value: 'canary-2' }] }],
      mcp_servers: [{ server_name: 's', token: 'canary-3', custom_headers: { A: 'canary-4' }, stdio_config: { env: { B: 'canary-5' } } }],
    });
    const { ports, home, result } = await imported(leaky);
    expect(result).toMatchObject({ withValues: true, secrets: ['GARDEN_KEY', 'OTHER', 'token', 'A', 'B'] });
    const held = (readdirSync(home, { recursive: true }) as string[]).filter(
      (path) => statSync(join(home, path)).isFile() && readFileSync(join(home, path), 'utf8').includes('canary'),
    );
    expect(held).toEqual(['private/secrets/letta.json']);
    expect(readFileSync(join(home, held[0] ?? ''), 'utf8').match(/canary-[1-5]/g)).toHaveLength(5);
    expect((await exported(ports, { directory: 'mira' })).text).not.toContain('canary');
  });
});

describe('af export', () => {
  test.each(Object.entries(SHAPES))('gives the same bytes from disk: %s', async (_, text) => {
    const { ports } = await imported(text);
    expect((await exported(ports, { directory: 'mira' })).text).toBe(text);
  });

  test.each(['odd in every way', 'the older format indented'])('gives the same bytes from a state: %s', async (name) => {
    const text = shape(name);
    const { directory, ports, home } = await imported(text);
    await init(ports, { directory: home, recovery: null });
    const own = at(ports, home);
    await checkpoint(own);
    const result = await exported(own, { output: join(directory, 'out.af'), from: 'HEAD' });
    expect(readFileSync(join(directory, 'out.af'), 'utf8')).toBe(text);
    expect(result).toMatchObject({ imported: true, bytes: Buffer.byteLength(text) });
    expect(result.leftOut.map(({ what }) => what).slice(0, 2)).toEqual([
      'archival passages, runs and schedules that a Letta server keeps',
      'the ledger and earlier states',
    ]);
  });

  test('is what was recorded, or what is on disk now', async () => {
    const { ports, home } = await imported(plain);
    await init(ports, { directory: home, recovery: null });
    const own = at(ports, home);
    await checkpoint(own);
    writeFileSync(join(home, 'private/memory/persona.md'), 'I am another.\n');
    expect((await exported(own, { from: 'HEAD' })).text).toBe(plain);
    expect((await exported(own)).text).toBe(plain.replace('"I am Mira.\\n"', '"I am another.\\n"'));
  });

  test('of an agent that was never one of Letta has its notes, and lists what it cannot hold', async () => {
    const { directory, a, home } = await adopted(temporary());
    mkdirSync(join(home, 'body/skills/walk'), { recursive: true });
    writeFileSync(join(home, 'body/skills/walk/SKILL.md'), 'walk\n');
    writeFileSync(join(home, 'private/memory/picture.md'), Buffer.from([0xff, 0xd8]));
    writeFileSync(join(home, 'private/state/queue.json'), '[]');
    symlinkSync('/etc/passwd', join(home, 'private/memory/link.md'));
    const result = await exported(a, { output: join(directory, 'ada.af') });
    const { text, ...data } = result;
    checkedOutput(JSON.stringify({ ok: true, command: 'af export', data }));
    const value = JSON.parse(text) as typeof CURRENT;
    expect(value.agents[0]?.name).toBe('Ada');
    expect(value.blocks.map(({ label }: { label?: string }) => label)).toEqual(['note-0', 'note-1', 'note-2', 'note-3', 'note-4']);
    expect(value.skills).toEqual([{ name: 'walk', files: { 'SKILL.md': 'walk\n' }, source_url: null }]);
    expect(text).not.toContain('canary');
    expect(text).not.toContain('root:');
    expect(result.leftOut.slice(2)).toEqual([
      { what: 'other members of the identity', count: 3, paths: ['format', 'version', 'designation'] },
      { what: 'values of secrets', count: 1, paths: ['private/secrets/chat.env'] },
      { what: 'schedules, queues and other state', count: 1, paths: ['private/state/queue.json'] },
      {
        what: 'memory that is neither a block nor the message log',
        count: 3,
        paths: ['private/memory/link.md', 'private/memory/long.jsonl', 'private/memory/picture.md'],
      },
      { what: 'other parts of the body', count: 1, paths: ['body/body.yaml'] },
      { what: 'artifacts', count: 1, paths: ['artifacts/today.log'] },
    ]);
  });

  test('can be imported again', async () => {
    const { directory, a } = await adopted(temporary());
    const { text } = await exported(a, { output: join(directory, 'ada.af') });
    await afImport(a, { file: join(directory, 'ada.af'), directory: join(directory, 'again') });
    expect((await exported(a, { directory: join(directory, 'again') })).text).toBe(text);
  });

  test('writes over nothing, and not into the agent', async () => {
    const { directory, ports, home } = await imported(plain);
    const to = (output: string): Promise<AfExported> => exported(ports, { directory: 'mira', output });
    await expect(to('mira.af')).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await expect(to('mira/x.af')).rejects.toMatchObject({ code: 'OUTPUT_INSIDE_ROOT' });
    await expect(exported(ports, { directory: 'gone' })).rejects.toMatchObject({ code: 'FILE_MISSING' });
    await expect(exported(ports, { directory: '.' })).rejects.toMatchObject({ code: 'USAGE_WRONG' });
    await expect(exported(ports, { directory: 'mira', from: 'HEAD' })).rejects.toMatchObject({ code: 'AGENT_MISSING' });
    expect(readdirSync(directory).sort()).toEqual(['mira', 'mira.af']);
    expect(existsSync(join(home, 'x.af'))).toBe(false);
  });

  test('fetches no secret, and says what is wrong with files that were damaged', async () => {
    const { ports, home } = await imported(plain);
    const document = join(home, 'private/state/letta/agent.json');
    const whole = readFileSync(document, 'utf8');
    const damagedBy = async (text: string): Promise<void> => {
      writeFileSync(document, text);
      await expect(exported(ports, { directory: 'mira' })).rejects.toMatchObject({ code: 'AF_DAMAGED' });
    };
    await damagedBy(whole.replace('private/memory/persona.md', 'private/secrets/letta.json'));
    await damagedBy(whole.replace('private/memory/persona.md', 'other/letta.json'));
    await damagedBy(whole.slice(0, -10));
    await damagedBy('{}');
    writeFileSync(document, whole.replace('private/memory/persona.md', 'private/../../mira.af'));
    await expect(exported(ports, { directory: 'mira' })).rejects.toMatchObject({ code: 'NAME_INVALID' });
    writeFileSync(document, whole.replace('"GARDEN_KEY": ""', '"GARDEN_KEY": "canary"'));
    expect((await exported(ports, { directory: 'mira' })).text).toBe(plain);
    writeFileSync(document, whole);
    writeFileSync(join(home, 'private/memory/messages.jsonl'), 'no message\n');
    await expect(exported(ports, { directory: 'mira' })).rejects.toThrow("'private/memory/messages.jsonl:1' is no JSON");
    rmSync(join(home, 'private/state/letta/form.json'));
    await expect(exported(ports, { directory: 'mira' })).rejects.toMatchObject({ code: 'AF_DAMAGED' });
  });
});
