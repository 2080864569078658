import { canary, Maker, sql, type LayoutOptions } from './make.ts';

const DAY = 'sessions/2026/08/01';
const ROLLOUT = `${DAY}/rollout-2026-08-01T10-00-00-a.jsonl`;

/**
 * Makes a small home with the names that the Codex CLI uses: sessions in files alone ('old'), or with the databases beside
 * them ('new'). It is made by hand and is no output of the program.
 */
export function buildCodex(directory: string, { era, home }: LayoutOptions): void {
  const make = new Maker(directory);
  const project = `${home}/project`;
  common(make, { project, home });
  if (era === 'old') make.file('instructions.md', '# Ada\n\nBe brief.\n');
  else newState(make, project);
}

function common(make: Maker, { project, home }: { readonly project: string; readonly home: string }): void {
  make.secret(
    'config.toml',
    `model = "main"\n\n[projects."${project}"]\ntrust_level = "trusted"\n\n[model_providers.own]\nenv_key = "OWN_KEY"\n\n[mcp_servers.search.env]\nKEY = "${canary('codex-mcp-key')}"\n`,
  );
  make.secret('config.toml.bak', `[mcp_servers.search.env]\nKEY = "${canary('codex-old-mcp-key')}"\n`);
  make.secret('auth.json', { tokens: { refresh_token: canary('codex-refresh') } });
  make.secret('.env', `KEY=${canary('codex-env')}\n`);
  make.lines(ROLLOUT, [
    { timestamp: '2026-08-01T10:00:00Z', type: 'session_meta', payload: { id: 'a', cwd: project, cli_version: '0.140.0' } },
    {
      timestamp: '2026-08-01T10:00:01Z',
      type: 'turn_context',
      payload: { cwd: project, sandbox_policy: { writable_roots: [`${home}/tmp`] } },
    },
    { timestamp: '2026-08-01T10:00:02Z', type: 'response_item', payload: { role: 'user', content: `what is in ${project}?` } },
  ]);
  make.lines('archived_sessions/rollout-2026-07-01T10-00-00-b.jsonl', [{ type: 'session_meta', payload: { id: 'b', cwd: project } }]);
  make.lines('history.jsonl', [{ session_id: 'a', ts: 1, text: `paste ${canary('codex-pasted')}` }]);
  make.files({
    'AGENTS.md': '# Ada\n\nBe brief.\n',
    'prompts/tide.md': 'tell the tide\n',
    'rules/default.rules': `prefix_rule(pattern=["${home}/bin/report"], decision="allow")\n`,
    'log/codex-tui.log': 'started\n',
    'version.json': '{}\n',
    'unheard-of.bin': 'what no rule knows\n',
  });
}

function newState(make: Maker, project: string): void {
  make.files({
    'memories/MEMORY.md': '# Memory\n\nThe harbour closes at six.\n',
    'memories/raw_memories.md': 'harbour\n',
    'skills/tides/SKILL.md': '# Tides\n',
    'skills/.system/basics/SKILL.md': '# Basics\n',
    'generated_images/tide.png': 'png\n',
    'cache/models': 'cached\n',
    'shell_snapshots/a.sh': 'export A=1\n',
    installation_id: '7d5f\n',
    'process_manager/4711.json': '{"pid":4711}\n',
    'models_cache.json': '{}\n',
  });
  make.file(`${DAY}/rollout-2026-08-01T09-00-00-c.jsonl.zst`, 'compressed\n');
  make.lines('session_index.jsonl', [{ id: 'a', thread_name: 'harbour' }]);
  make.json('hooks.json', { hooks: { Stop: [{ command: `${project}/hook` }] } });
  make.json('.codex-global-state.json', { 'active-workspace-roots': [project] });
  make.database(
    'state_5.sqlite',
    `CREATE TABLE threads(id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL, cwd TEXT NOT NULL, title TEXT NOT NULL,
       sandbox_policy TEXT NOT NULL);
     INSERT INTO threads VALUES('a', ${sql(`${make.root}/${ROLLOUT}`)}, 1, ${sql(project)}, 'harbour', '{"type":"read-only"}');`,
  );
  make.database(
    'thread_history_1.sqlite',
    'CREATE TABLE thread_turns(thread_id TEXT NOT NULL, turn_id TEXT NOT NULL, PRIMARY KEY(thread_id, turn_id));',
  );
  make.database(
    'queue_1.sqlite',
    `CREATE TABLE thread_queued_turns(queued_turn_id TEXT PRIMARY KEY, thread_id TEXT NOT NULL, state TEXT NOT NULL);
     INSERT INTO thread_queued_turns VALUES('q1', 'a', 'pending');`,
  );
  make.database('goals_1.sqlite', 'CREATE TABLE thread_goals(thread_id TEXT PRIMARY KEY, objective TEXT);');
  make.database('memories_1.sqlite', "CREATE TABLE memory(text); INSERT INTO memory VALUES('harbour');");
  make.database('logs_2.sqlite', 'CREATE TABLE logs(line TEXT);');
  make.link('tmp/arg0/codex-arg0', `${make.root}/bin/codex`);
  make.link('skills/shared', '../prompts');
  make.link('prompts/gone.md', 'nowhere.md');
  make.repository('memories', 'https://example.invalid/memories.git');
}
