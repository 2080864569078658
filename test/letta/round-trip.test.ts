import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DOCUMENT_FILE, FORM_FILE } from '../../src/letta/form.ts';
import { frameOf, putTogether, type PutTogether } from '../../src/letta/put-together.ts';
import { takeApart } from '../../src/letta/take-apart.ts';
import { CURRENT, OLDER, SHAPES } from '../support/agent-files.ts';

const apart = (text: string): Map<string, string> => new Map(takeApart(text, { subject: 'x.af' }).files);
const together = (files: ReadonlyMap<string, string>): PutTogether =>
  putTogether(frameOf({ document: files.get(DOCUMENT_FILE), form: files.get(FORM_FILE), name: 'x' }), files);
const document = (files: ReadonlyMap<string, string>): typeof CURRENT => JSON.parse(together(files).text) as typeof CURRENT;

describe('an agent file that was taken apart', () => {
  test.each(Object.entries(SHAPES))('comes back to the byte: %s', (_, text) => {
    expect(together(apart(text)).text).toBe(text);
  });

  test('comes back to the byte whatever its texts, names and white space are', () => {
    const label = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('..', '../../etc/passwd', '', '.', 'a/b', 'A', 'a', 'x.pid', '.git/config', 'con\0'),
    );
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '\ud800', '\u2028"\\', '$perdure'));
    const block = fc.record({ label, value: text, limit: fc.integer() });
    const skill = fc.record({ name: label, files: fc.dictionary(label, text, { maxKeys: 4 }) });
    const tool = fc.record({
      name: label,
      source_code: fc.option(text),
      source_type: fc.constantFrom('python', 'typescript', 'other'),
      json_schema: fc.option(fc.jsonValue()),
    });
    const agent = fc.record({
      name: fc.oneof(label, fc.constant(7)),
      system: fc.option(text),
      messages: fc.array(fc.jsonValue(), { maxLength: 3 }),
      llm_config: fc.jsonValue(),
    });
    const af = fc.record({
      agents: fc.array(agent, { minLength: 1, maxLength: 3 }),
      blocks: fc.array(block, { maxLength: 4 }),
      tools: fc.array(tool, { maxLength: 3 }),
      skills: fc.array(skill, { maxLength: 3 }),
      files: fc.array(fc.record({ file_name: label, content: fc.option(text) }), { maxLength: 3 }),
      mcp_servers: fc.jsonValue(),
    });
    fc.assert(
      fc.property(af, fc.constantFrom(undefined, 1, 2, '\t'), fc.nat(2), (value, indent, wraps) => {
        let written = JSON.stringify(value, null, indent);
        for (let at = 0; at < wraps; at++) written = JSON.stringify(written);
        fc.pre(takeApart(written, { subject: 'x' }).secrets.every((one) => one.value === null));
        expect(together(apart(written)).text).toBe(written);
      }),
      { numRuns: 300 },
    );
  });

  test('has each thing in a file of its own, as it is', () => {
    const files = apart(SHAPES['with all but ASCII escaped'] ?? '');
    expect([...files.keys()].sort()).toEqual([
      'artifacts/garden/beds.txt',
      'body/skills/pruning/SKILL.md',
      'body/skills/pruning/references/when.md',
      'body/skills/pruning/scripts/cut.sh',
      'body/tools/lookup.json',
      'body/tools/lookup.py',
      'private/config/letta/embedding_config.json',
      'private/config/letta/llm_config.json',
      'private/config/letta/mcp_servers.json',
      'private/config/letta/tool_rules.json',
      'private/memory/human.md',
      'private/memory/messages.jsonl',
      'private/memory/persona.md',
      'private/secrets/letta.json',
      'private/self.json',
      'private/state/letta/agent.json',
      'private/state/letta/form.json',
    ]);
    expect(files.get('private/memory/human.md')).toBe('\nlikes tulips; no newline at the end');
    expect(JSON.parse(files.get('private/self.json') ?? '')).toEqual({
      name: CURRENT.agents[0]?.name,
      description: 'keeps a garden diary',
      system: CURRENT.agents[0]?.system,
    });
    expect((files.get('private/memory/messages.jsonl') ?? '').split('\n')).toHaveLength(3);
    expect(JSON.parse(files.get('private/secrets/letta.json') ?? '')).toEqual({
      '/agents/0/tool_exec_environment_variables': { GARDEN_KEY: '', WEATHER_KEY: '' },
    });
  });

  test('tells what it could not call by its name, and what no file can hold', () => {
    const taken = takeApart(SHAPES['with halves of characters'] ?? '', { subject: 'x' });
    expect(taken.kept).toEqual(['private/memory/human.md']);
    const two = takeApart(SHAPES['of two agents'] ?? '', { subject: 'x' });
    expect(two.agents).toEqual(['Mira', 'Mira/../x']);
    expect(two.renamed).toContainEqual({ wanted: 'private/memory/agents/Mira/../x', path: 'private/memory/agents/Mira_.._x' });
  });
});

describe('what changed on disk is what is in the file', () => {
  const original = SHAPES['indented by two'] ?? '';
  const changed = (change: (files: Map<string, string>) => void, text = original): typeof CURRENT => {
    const files = apart(text);
    change(files);
    return document(files);
  };

  test('a block, and nothing else', () => {
    const files = apart(original).set('private/memory/persona.md', 'I am Mira, a gardener.\n');
    expect(together(files).text).toBe(original.replace('"I am Mira.\\n"', '"I am Mira, a gardener.\\n"'));
  });

  test('a message more, laid out as the others are', () => {
    const files = apart(original);
    files.set('private/memory/messages.jsonl', `${files.get('private/memory/messages.jsonl') ?? ''}{"id":"message-2","role":"user"}\n`);
    expect(together(files).text).toContain(
      '        },\n        {\n          "id": "message-2",\n          "role": "user"\n        }\n      ],',
    );
  });

  test('a message less is not in context', () => {
    const { agents } = changed((files) => files.set('private/memory/messages.jsonl', '{"id":"message-1"}\n'));
    expect(agents[0]?.in_context_message_ids).toEqual(['message-1']);
    expect(changed((files) => files.delete('private/memory/messages.jsonl')).agents[0]?.messages).toEqual([]);
  });

  test('a tool, its schema, a name, a configuration', () => {
    const { agents, tools } = changed((files) => {
      files.set('body/tools/lookup.py', 'def lookup(): ...\n').set('body/tools/lookup.json', '{"name":"lookup"}');
      files
        .set('private/self.json', '{"name":"Mira II","system":"x","more":1}')
        .set('private/config/letta/llm_config.json', '{"model":"other"}');
    });
    expect(tools[0]).toMatchObject({ source_code: 'def lookup(): ...\n', json_schema: { name: 'lookup' } });
    expect(agents[0]).toMatchObject({ name: 'Mira II', system: 'x', description: null, llm_config: { model: 'other' } });
  });

  test('what was removed is gone with all that names it', () => {
    const value = changed((files) => {
      for (const path of ['private/memory/human.md', 'body/tools/lookup.py', 'artifacts/garden/beds.txt', 'body/skills/pruning/SKILL.md'])
        files.delete(path);
    });
    expect(value.blocks).toHaveLength(1);
    expect(value.tools.map(({ name }) => name)).toEqual(['conversation_search']);
    expect(value.files).toEqual([]);
    expect(Object.keys(value.skills[0]?.files ?? {})).toEqual(['scripts/cut.sh', 'references/when.md']);
    expect(value.agents[0]).toMatchObject({ block_ids: ['block-0'], tool_ids: ['tool-1'], files_agents: [] });
  });

  test('a skill without files is none', () => {
    const { skills } = changed((files) => {
      for (const path of [...files.keys()]) if (path.startsWith('body/skills/')) files.delete(path);
    });
    expect(skills).toEqual([]);
  });

  test('what is new is taken up', () => {
    const value = changed((files) => {
      files.set('private/memory/plans/spring.md', 'sow\n').set('body/skills/pruning/new.md', 'n').set('body/skills/mulch/SKILL.md', 'm');
      files.set('body/tools/count.py', 'def count(): ...\n').set('body/tools/count.json', '{"name":"count"}').set('body/tools/bare.py', '');
    });
    expect(value.blocks[2]).toEqual({ value: 'sow\n', limit: 20000, label: 'plans/spring', read_only: false, id: 'block-2' });
    expect(value.agents[0]).toMatchObject({ block_ids: ['block-0', 'block-1', 'block-2'], tool_ids: ['tool-0', 'tool-1', 'tool-2'] });
    expect(value.tools.map(({ name }) => name)).toEqual(['lookup', 'conversation_search', 'count']);
    expect(value.skills.map(({ name, files }) => [name, Object.keys(files)])).toEqual([
      ['pruning', ['SKILL.md', 'scripts/cut.sh', 'references/when.md', 'new.md']],
      ['mulch', ['SKILL.md']],
    ]);
  });

  test('in the older format, too', () => {
    const files = apart(JSON.stringify(OLDER)).set('private/memory/new.md', 'n').set('private/memory/messages.jsonl', '{"role":"user"}\n');
    files.delete('private/memory/human.md');
    const value = JSON.parse(together(files).text) as typeof OLDER;
    expect(value.core_memory.map(({ label }) => label)).toEqual(['persona', 'new']);
    expect(value.in_context_message_indices).toEqual([0]);
  });

  test('a file that was never one of Letta is a small whole one', () => {
    const files = new Map([
      ['private/self.json', '{"designation":"Ada"}'],
      ['private/memory/a.md', 'a'],
    ]);
    const value = JSON.parse(putTogether(frameOf({ document: undefined, form: undefined, name: 'Ada' }), files).text) as typeof CURRENT;
    expect(value.agents[0]).toMatchObject({ name: 'Ada', system: null, block_ids: ['block-0'] });
    expect(value.blocks[0]).toMatchObject({ label: 'a', value: 'a', id: 'block-0' });
    expect(Object.keys(value)).toEqual(['agents', 'groups', 'blocks', 'files', 'sources', 'tools', 'mcp_servers', 'metadata']);
  });

  test('a block that is longer than it may be is told', () => {
    const files = apart(original).set('private/memory/persona.md', '🌱'.repeat(20_001));
    expect(together(files).tooLong).toEqual(['persona']);
    expect(together(apart(original)).tooLong).toEqual([]);
  });
});
