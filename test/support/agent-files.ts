/**
 * Agent files in the shapes of those that Letta's exporters write. All of them are made here; the names say what each shows.
 */

const MESSAGE = (id: string, text: string): object => ({
  type: 'message',
  role: 'system',
  content: [{ type: 'text', text, signature: null }],
  name: null,
  id,
  agent_id: 'agent-0',
  tool_calls: null,
  tool_returns: [],
  created_at: '2026-01-02T03:04:05.678901+00:00',
});

const AGENT = {
  name: 'Mira',
  memory_blocks: [],
  tools: [],
  tool_ids: ['tool-0', 'tool-1'],
  source_ids: ['source-0'],
  block_ids: ['block-0', 'block-1'],
  tool_rules: [{ tool_name: 'lookup', type: 'continue_loop', prompt_template: null }],
  tags: ['origin:test'],
  system: 'You are Mira.\n\n- “remember”\n- answer → briefly\n',
  agent_type: 'letta_v1_agent',
  description: 'keeps a garden diary',
  metadata: null,
  llm_config: { model: 'some-model', temperature: 0.7, max_tokens: null, model_endpoint: 'https://llm.example/v1' },
  embedding_config: { embedding_model: 'small', embedding_dim: 1536 },
  tool_exec_environment_variables: { GARDEN_KEY: '', WEATHER_KEY: '' },
  secrets: null,
  timezone: 'UTC',
  id: 'agent-0',
  in_context_message_ids: ['message-0', 'message-1'],
  messages: [MESSAGE('message-0', 'You are Mira.'), MESSAGE('message-1', 'déjà vu — 🌱')],
  files_agents: [
    { agent_id: 'agent-0', file_id: 'file-0', source_id: 'source-0', file_name: 'beds.txt', is_open: true, id: 'file_agent-0' },
  ],
  group_ids: [],
};

const BLOCK = (id: string, label: string, value: string): object => ({
  value,
  limit: 20000,
  template_name: null,
  is_template: false,
  label,
  read_only: false,
  description: `the ${label} block`,
  metadata: {},
  id,
});

/** The members of a file of today. */
export const CURRENT = {
  agents: [AGENT],
  groups: [],
  blocks: [BLOCK('block-0', 'persona', 'I am Mira.\n'), BLOCK('block-1', 'human', '\nlikes tulips; no newline at the end')],
  files: [{ source_id: 'source-0', file_name: 'beds.txt', file_size: 12, content: 'bed 1: peas\n', id: 'file-0' }],
  sources: [{ name: 'garden', description: null, instructions: 'what grows where', id: 'source-0' }],
  tools: [
    {
      id: 'tool-0',
      tool_type: 'custom',
      source_type: 'python',
      name: 'lookup',
      tags: [],
      source_code: 'def lookup(bed: int) -> str:\n    """Looks up a bed."""\n    return f"bed {bed}"\n',
      json_schema: { name: 'lookup', parameters: { type: 'object', properties: { bed: { type: 'integer' } }, required: ['bed'] } },
      pip_requirements: null,
    },
    { id: 'tool-1', tool_type: 'letta_core', source_type: 'python', name: 'conversation_search', source_code: null, json_schema: {} },
  ],
  mcp_servers: [{ id: 'mcp_server-0', server_type: 'stdio', server_name: 'shed', stdio_config: { command: 'shed-server', args: ['-v'] } }],
  skills: [
    {
      name: 'pruning',
      files: { 'SKILL.md': '---\nname: pruning\n---\n', 'scripts/cut.sh': '#!/bin/sh\necho cut\n', 'references/when.md': 'in March\n' },
      source_url: null,
    },
  ],
  metadata: { revision_id: '0123456789ab' },
  created_at: '2026-01-02T03:04:06.000000+00:00',
};

/** The members of a file of the older format: one agent, and its memory in it. */
export const OLDER = {
  agent_type: 'memgpt_agent',
  core_memory: [
    { created_at: '2025-04-01T00:00:00', description: null, label: 'persona', limit: 5000, metadata_: {}, value: 'I am Otto.\n' },
    { created_at: '2025-04-01T00:00:00', description: null, label: 'human', limit: 5000, metadata_: {}, value: '' },
  ],
  description: null,
  llm_config: { model: 'older', temperature: 0.7 },
  message_buffer_autoclear: false,
  in_context_message_indices: [0, 1],
  messages: [
    { role: 'system', content: [{ type: 'text', text: 'You are Otto.' }], tool_calls: [] },
    { role: 'user', content: [{ type: 'text', text: '{\n  "type": "login"\n}' }], tool_calls: [] },
  ],
  metadata_: null,
  name: 'Otto',
  system: 'You are Otto.',
  tags: [],
  tool_exec_environment_variables: [{ key: 'OTTO_KEY', value: '', description: null }],
  tool_rules: [{ tool_name: 'send_message', type: 'exit_loop' }],
  tools: [{ name: 'roll', source_type: 'python', source_code: 'def roll():\n    return 4\n', json_schema: { name: 'roll' }, tags: [] }],
  version: '0.6.47',
};

function asciiOnly(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function pythonLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(pythonLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)}: ${pythonLine(one)}`)
    .join(', ')}}`;
}

const indented = JSON.stringify(CURRENT, null, 2);
const odd = `\ufeff \n${indented
  .replace('"You are Mira.\\n', '"You are\\u0020Mira.\\n')
  .replace('"I am Mira.\\n"', '"\\u0049 am M\\/ira.\\n"')
  .replace('"temperature": 0.7', '"temperature" :1.0e0,"seed": 12345678901234567890123')
  .replace('"metadata": null', '"metadata":\tnull , "an unknown key": [1.0, -0, NaN]')
  .replace('"is_template": false', '"is_template": false,   "is_template": true')}\n\n`;

/** Whole files, by what they show. */
export const SHAPES: Readonly<Record<string, string>> = {
  'indented by two': indented,
  'indented by four, with a line end': `${JSON.stringify(CURRENT, null, 4)}\n`,
  'on one line, as a browser writes it': JSON.stringify(CURRENT),
  'on one line, as Python writes it': pythonLine(CURRENT),
  'with all but ASCII escaped': asciiOnly(indented),
  'a JSON string that holds JSON': JSON.stringify(indented),
  'a JSON string that holds JSON, escaped twice': asciiOnly(JSON.stringify(asciiOnly(indented))),
  'a JSON string in a JSON string': ` ${JSON.stringify(JSON.stringify(JSON.stringify(CURRENT)))}\n`,
  'a JSON string that is escaped as nobody does': JSON.stringify(indented).replaceAll('a', '\\u0061'),
  'the older format on one line': `${JSON.stringify(OLDER)}\n`,
  'the older format indented': JSON.stringify(OLDER, null, 2),
  'odd in every way': odd,
  'with Windows line ends': indented.replaceAll('\n', '\r\n'),
  'of two agents': JSON.stringify({ ...CURRENT, agents: [AGENT, { ...AGENT, name: 'Mira/../x', id: 'agent-1' }] }, null, 2),
  'with nothing but an agent': '{"agents":[{"id":"agent-0","messages":[]}]}',
  'with halves of characters': indented.replace('likes tulips', 'likes \\ud83c tulips').replace('déjà', 'd\\udc00jà'),
  'a JSON string with halves of characters': JSON.stringify(indented.replace('likes tulips', 'likes \ud83c tulips')),
  'that speaks of references': indented.replace('I am Mira.', '$perdure and {\\"$perdure2\\":1}'),
};
