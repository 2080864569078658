import { canary, Maker, sql, type LayoutOptions } from './make.ts';

/**
 * Makes a small state directory with the names that OpenClaw uses: JSON files until mid-2026 ('old'), SQLite since ('new'). It
 * is made by hand and is no output of the program.
 */
export function buildOpenclaw(directory: string, { era, home }: LayoutOptions): void {
  const make = new Maker(directory);
  config(make, home);
  workspace(make, home);
  channels(make);
  rest(make, home);
  if (era === 'old') oldState(make, home);
  else newState(make, home);
}

function config(make: Maker, home: string): void {
  const text = (token: string): string => `// what the gateway reads
{
  agents: { defaults: { workspace: ${JSON.stringify(`${make.root}/workspace`)} }, entries: { main: { cwd: ${JSON.stringify(`${home}/project`)} } } },
  channels: { telegram: { botToken: ${JSON.stringify(token)} } },
  models: { providers: { main: { apiKey: "\${MODEL_KEY}" } } },
  meta: { lastTouchedVersion: "2026.8.10" },
}
`;
  make.secret('openclaw.json', text(canary('openclaw-telegram-token')));
  make.secret('openclaw.json.bak.1', text(canary('openclaw-old-telegram-token')));
  make.secret('.env', `MODEL_KEY=${canary('openclaw-model-key')}\n`);
  make.json('exec-approvals.json', { agents: { main: { allow: [`${home}/bin/report`] } } });
  make.json('settings/voice.json', { wake: ['ada'], recordings: `${home}/recordings` });
  make.json('plugins/catalog.json', { plugins: { notes: { path: `${make.root}/extensions/notes` } } });
  make.file('hooks/greet.js', 'export default () => "hello";\n');
}

function workspace(make: Maker, home: string): void {
  make.files({
    'workspace/SOUL.md': '# Soul\n\nCalm, curious, brief.\n',
    'workspace/IDENTITY.md': '# Identity\n\nName: Ada\n',
    'workspace/AGENTS.md': '# Agents\n\nRead the soul first.\n',
    'workspace/TOOLS.md': `# Tools\n\nThe report lies at ${home}/bin/report.\n`,
    'workspace/USER.md': '# User\n\nDrinks tea.\n',
    'workspace/MEMORY.md': '# Memory\n\nThe harbour closes at six.\n',
    'workspace/memory/2026-08-01.md': 'Met the harbour master.\n',
    'workspace/memory/.dreams/recall.json': '{"recalls":3}\n',
    'workspace/memory/.dreams/recall.lock': '4711\n',
    'workspace/skills/tides/SKILL.md': '# Tides\n',
    'workspace/skills/tides/poetry.lock': '# locked\n',
    'workspace/project/index.js': 'console.log("tide");\n',
    'workspace/project/node_modules/left/index.js': 'module.exports = 1;\n',
    'workspace/project/package.json': '{"name":"project"}\n',
    'workspace/project/yarn.lock': '# locked\n',
    'workspace/.openclaw/workspace-state.json': '{"version":1}\n',
    'workspace-night/SOUL.md': '# Soul\n\nAwake at night.\n',
  });
  make.secret('workspace/project/.env', `DEPLOY=${canary('openclaw-project-env')}\n`);
  make.database('workspace/project/notes.db', "CREATE TABLE note(text); INSERT INTO note VALUES('a note of a project');");
  make.repository('workspace', 'https://example.invalid/ada-memory.git');
  make.repository('workspace/project', 'https://example.invalid/project.git');
  make.link('workspace/today.md', 'memory/2026-08-01.md');
  make.link('workspace/skills/shared', `${home}/.agents/skills/shared`);
}

function channels(make: Maker): void {
  make.secret('credentials/whatsapp/default/creds.json', { noiseKey: canary('openclaw-whatsapp-noise') });
  make.secret('credentials/whatsapp/default/session-1.json', { ratchet: canary('openclaw-whatsapp-session') });
  make.json('credentials/telegram-allowFrom.json', { allow: ['1001'] });
  make.secret('matrix/accounts/ada/3f9a/crypto.json', { olm: canary('openclaw-matrix-olm') });
  make.json('telegram/update-offset-default.json', { version: 3, botId: '1', offset: 41 });
}

function rest(make: Maker, home: string): void {
  make.files({
    'agents/main/agent/codex-home/config.toml': `[projects."${home}/project"]\ntrust_level = "trusted"\n`,
    'agents/main/agent/codex-home/installation_id': '7d5f\n',
    'agents/main/agent/codex-home/cache/models': 'cached\n',
    'agents/main/agent/workshop-skills/knots/SKILL.md': '# Knots\n',
    'extensions/notes/index.js': 'export {};\n',
    'extensions/notes/node_modules/dep/index.js': 'module.exports = 2;\n',
    'media/inbound/photo.jpg': 'jpeg\n',
    'transcripts/2026-08-01.txt': 'a call\n',
    'logs/gateway.log': 'started\n',
    'tmp/openclaw-1000/gateway.lock.sqlite': 'not looked at\n',
    'npm/node_modules/plugin/index.js': 'module.exports = 3;\n',
    'browser/ada/user-data/Default/Cookies': `cookie=${canary('openclaw-browser-cookie')}\n`,
    'gateway.pid': '4711\n',
    '.DS_Store': 'finder\n',
    'unheard-of.bin': 'what no rule knows\n',
  });
  make.secret('agents/main/agent/codex-home/auth.json', { refresh_token: canary('openclaw-codex-refresh') });
  make.lines('agents/main/agent/codex-home/sessions/2026/08/01/rollout-2026-08-01T10-00-00-a.jsonl', [
    { type: 'session_meta', payload: { id: 'a', cwd: `${make.root}/workspace` } },
  ]);
  make.database(
    'agents/main/agent/codex-home/state_5.sqlite',
    `CREATE TABLE threads(id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, cwd TEXT NOT NULL);
     INSERT INTO threads VALUES('a', ${sql(`${make.root}/agents/main/agent/codex-home/sessions/2026/08/01/rollout-2026-08-01T10-00-00-a.jsonl`)},
       ${sql(`${make.root}/workspace`)});`,
  );
  make.database('agents/main/agent/codex-home/queue_1.sqlite', 'CREATE TABLE thread_queued_turns(queued_turn_id TEXT, state TEXT);');
  make.link('browser/ada/user-data/SingletonLock', 'old-host-4712');
  make.link('plugin-skills/notes', `${make.root}/extensions/notes`);
  make.file('workspace/._SOUL.md', Buffer.from([0, 5, 0x16, 7, 0, 2, 0, 0]));
}

/** Sessions, schedules, queues and keys as files. */
function oldState(make: Maker, home: string): void {
  make.json('agents/main/sessions/sessions.json', {
    'agent:main:main': {
      sessionId: 's1',
      sessionFile: `${make.root}/agents/main/sessions/s1.jsonl`,
      skillsSnapshot: { skills: [{ name: 'tides', path: `${make.root}/workspace/skills/tides/SKILL.md` }] },
    },
  });
  make.lines('agents/main/sessions/s1.jsonl', [
    { type: 'session', id: 's1', cwd: `${make.root}/workspace` },
    { type: 'message', message: { role: 'user', content: `what is in ${home}/project?` } },
  ]);
  make.lines('agents/main/sessions/s0.jsonl.reset.2026-07-01', [{ type: 'session', id: 's0' }]);
  make.file('agents/main/sessions/s1.jsonl.lock', '4711\n');
  make.secret('agents/main/agent/auth-profiles.json', { profiles: { main: { refresh: canary('openclaw-auth-refresh') } } });
  make.json('cron/jobs.json', {
    version: 1,
    jobs: [{ id: 'j1', schedule: { kind: 'at', at: '2026-08-02T08:00:00Z' }, cwd: `${home}/project` }],
  });
  make.lines('cron/runs/j1.jsonl', [{ ts: 1, status: 'ok' }]);
  make.json('delivery-queue/d1.json', { id: 'd1', channel: 'telegram', payload: { text: 'the tide turns' } });
  make.json('delivery-queue/d0.json.delivered', { id: 'd0' });
  make.json('session-delivery-queue/e1.json', { id: 'e1' });
  make.secret('identity/device.json', { deviceId: 'old-host', privateKeyPem: canary('openclaw-device-key') });
  make.secret('devices/paired.json', { phone: { token: canary('openclaw-paired-token') } });
  make.database('memory/main.sqlite', "CREATE TABLE chunks(text); INSERT INTO chunks VALUES('harbour');");
  make.file('memory/main.sqlite.tmp-1', 'half\n');
}

/** The same in the database of the gateway and in one of each agent. */
function newState(make: Maker, home: string): void {
  const agent = `${make.root}/agents/main/agent`;
  make.database(
    'state/openclaw.sqlite',
    `PRAGMA user_version=9;
     CREATE TABLE schema_meta(meta_key TEXT PRIMARY KEY, role TEXT NOT NULL, schema_version INTEGER NOT NULL) STRICT;
     INSERT INTO schema_meta VALUES('main', 'state', 9);
     CREATE TABLE agent_databases(agent_id TEXT NOT NULL, path TEXT NOT NULL, schema_version INTEGER NOT NULL, last_seen_at INTEGER NOT NULL,
       size_bytes INTEGER, PRIMARY KEY(agent_id, path)) STRICT;
     INSERT INTO agent_databases VALUES('main', ${sql(`${agent}/openclaw-agent.sqlite`)}, 17, 1, NULL);
     CREATE TABLE agent_database_leases(lease_id TEXT PRIMARY KEY, agent_id TEXT NOT NULL, path TEXT NOT NULL, owner_pid INTEGER NOT NULL,
       owner_start_time INTEGER, opened_at INTEGER NOT NULL) STRICT;
     INSERT INTO agent_database_leases VALUES('l1', 'main', ${sql(`${agent}/openclaw-agent.sqlite`)}, 4711, NULL, 1);
     CREATE TABLE workspace_setup_state(workspace_key TEXT PRIMARY KEY, workspace_path TEXT NOT NULL);
     INSERT INTO workspace_setup_state VALUES('main', ${sql(`${make.root}/workspace`)});
     CREATE TABLE acp_sessions(session_key TEXT PRIMARY KEY, cwd TEXT);
     INSERT INTO acp_sessions VALUES('agent:main:acp', ${sql(`${home}/project`)});
     CREATE TABLE cron_jobs(store_key TEXT, job_id TEXT, name TEXT NOT NULL, job_json TEXT NOT NULL, PRIMARY KEY(store_key, job_id));
     INSERT INTO cron_jobs VALUES('main', 'j1', 'morning', ${sql(JSON.stringify({ payload: { message: `look in ${home}/project` } }))});
     CREATE TABLE delivery_queue_entries(queue_name TEXT, id TEXT, status TEXT NOT NULL, entry_json TEXT NOT NULL, PRIMARY KEY(queue_name, id));
     INSERT INTO delivery_queue_entries VALUES('delivery', 'd1', 'pending', '{"text":"the tide turns"}');
     CREATE TABLE device_identities(identity_key TEXT PRIMARY KEY, private_key_pem TEXT NOT NULL);
     INSERT INTO device_identities VALUES('self', ${sql(canary('openclaw-device-key'))});`,
  );
  make.database(
    'agents/main/agent/openclaw-agent.sqlite',
    `CREATE TABLE session_nodes(session_key TEXT PRIMARY KEY, entry_json TEXT NOT NULL, entry_valid INTEGER NOT NULL DEFAULT 0) STRICT;
     INSERT INTO session_nodes VALUES('agent:main:main', ${sql(JSON.stringify({ sessionId: 's1', workspaceDir: `${make.root}/workspace`, label: home }))}, 1);
     CREATE TRIGGER session_nodes_entry_valid AFTER UPDATE OF entry_json ON session_nodes BEGIN UPDATE session_nodes SET entry_valid = 0; END;
     CREATE TABLE transcript_events(session_id TEXT, seq INTEGER, event_json TEXT NOT NULL, navigation_json TEXT, PRIMARY KEY(session_id, seq),
       CHECK(navigation_json IS NULL OR json_valid(navigation_json))) STRICT;
     INSERT INTO transcript_events VALUES('s1', 0, ${sql(JSON.stringify({ type: 'session', cwd: `${make.root}/workspace` }))}, NULL);
     INSERT INTO transcript_events VALUES('s1', 1, ${sql(JSON.stringify({ role: 'user', content: `when does the harbour of ${home} close?` }))}, NULL);
     CREATE TABLE auth_profile_stores(store_key TEXT PRIMARY KEY, store_json TEXT NOT NULL);
     INSERT INTO auth_profile_stores VALUES('main', ${sql(canary('openclaw-auth-refresh'))});`,
  );
  make.database(
    'state/openclaw-quarantine.sqlite',
    `CREATE TABLE agent_integrity_verifications(path TEXT PRIMARY KEY); INSERT INTO agent_integrity_verifications VALUES(${sql(`${agent}/openclaw-agent.sqlite`)});`,
  );
  make.json('cron/jobs.json.migrated', { version: 1, jobs: [] });
  make.lines('agents/main/sessions/session-sqlite-import-archive/s1.jsonl', [{ type: 'session', id: 's1' }]);
  make.json('session-sqlite-migration-runs/1.json', { imported: 1 });
}
