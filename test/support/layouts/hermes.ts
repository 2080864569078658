import { canary, Maker, sql, type LayoutOptions } from './make.ts';

/**
 * Makes a small home with the names that Hermes Agent uses: with transcripts in files ('old'), or in state.db with more
 * databases beside it and a profile below ('new'). It is made by hand and is no output of the program.
 */
export function buildHermes(directory: string, { era, home }: LayoutOptions): void {
  const make = new Maker(directory);
  agent(make, '', home);
  credentials(make, '');
  regenerable(make);
  if (era === 'old') oldState(make);
  else newState(make, home);
}

/** What a home and a profile below it have in common. */
function agent(make: Maker, prefix: string, home: string): void {
  make.files({
    [`${prefix}SOUL.md`]: '# Soul\n\nCalm, curious, brief.\n',
    [`${prefix}memories/MEMORY.md`]: 'The harbour closes at six.\n§\nTides turn twice a day.\n',
    [`${prefix}memories/USER.md`]: 'Drinks tea.\n',
    [`${prefix}skills/tides/SKILL.md`]: '# Tides\n',
    [`${prefix}skills/hermes-agent/SKILL.md`]: '# A skill of the same name as the program\n',
    [`${prefix}skills/tides/models/small.bin`]: 'a model that a skill brings\n',
    [`${prefix}plugins/notes/plugin.py`]: 'pass\n',
    [`${prefix}workspace/report.md`]: '# Report\n',
  });
  make.secret(
    `${prefix}config.yaml`,
    `model:\n  default: main\nterminal:\n  cwd: ${home}/project\nproviders:\n  key: ${canary('hermes-config-key')}\n`,
  );
  make.json(`${prefix}cron/jobs.json`, {
    jobs: [{ id: 'j1', schedule: '0 8 * * *', workdir: `${home}/project`, origin: 'telegram:1001' }],
  });
  make.file(`${prefix}cron/output/j1/2026-08-01.md`, 'ran\n');
}

function credentials(make: Maker, prefix: string): void {
  make.secret(`${prefix}.env`, `TELEGRAM=${canary('hermes-telegram-token')}\n`);
  make.secret(`${prefix}auth.json`, { refresh_token: canary('hermes-auth-refresh') });
  make.secret(`${prefix}platforms/whatsapp/session/creds.json`, { noiseKey: canary('hermes-whatsapp-noise') });
  make.secret(`${prefix}pairing/telegram-approved.json`, { code: canary('hermes-pairing-code') });
  make.secret(`${prefix}weixin/accounts/1.json`, { session: canary('hermes-weixin-session') });
  make.secret(`${prefix}mcp-tokens/search.json`, { access: canary('hermes-mcp-token') });
  make.secret(`${prefix}webhook_subscriptions.json`, { hook: { secret: canary('hermes-webhook') } });
  make.secret(`${prefix}home/.netrc`, `password ${canary('hermes-home-netrc')}\n`);
  make.secret(`${prefix}workspace/project/.env`, `DEPLOY=${canary('hermes-project-env')}\n`);
}

/** What is left out, and what lies beside it and is not. */
function regenerable(make: Maker): void {
  make.files({
    'models/large.gguf': 'weights\n',
    'node/bin/node': 'a program\n',
    'hermes-agent/run_agent.py': 'pass\n',
    'plugins/notes/.venv/lib/site.py': 'pass\n',
    'cache/images/tide.png': 'the only copy\n',
    'cache/citations/ledger.jsonl': '{}\n',
    'cache/catalog.json': '{}\n',
    'image_cache/old.png': 'the only copy\n',
    'browser-profile/Default/Cookies': `cookie=${canary('hermes-browser-cookie')}\n`,
    'backups/pre-update.zip': `zip ${canary('hermes-backup')}\n`,
    'logs/gateway.log': 'started\n',
    'gateway_state.json': '{"state":"running","pid":4711}\n',
    'processes.json': '[]\n',
    'gateway.pid': '4711\n',
    'gateway.lock': '',
    'auth.lock': '',
    'desktop/interrupted_turns.json': '{}\n',
    'channel_directory.json': '{"telegram":["1001"]}\n',
    '.hermes_history': 'when does the harbour close?\n',
    '.no-bundled-skills': '',
    active_profile: 'default\n',
    'unheard-of.bin': 'what no rule knows\n',
  });
  make.link('browser-profile/SingletonLock', 'old-host-4712');
  make.link('skills/shared', '../plugins/notes');
  make.link('workspace/elsewhere', '/srv/elsewhere');
  make.repository('skills/tides', 'https://example.invalid/tides.git');
}

function oldState(make: Maker): void {
  make.lines('sessions/telegram-1001.jsonl', [
    { role: 'user', content: 'when does the harbour close?' },
    { role: 'assistant', content: 'at six' },
  ]);
  make.json('sessions/sessions.json', { 'telegram:1001': 'telegram-1001' });
  database(make, 'state.db');
}

function newState(make: Maker, home: string): void {
  make.database(
    'state.db',
    `CREATE TABLE schema_version(version INTEGER NOT NULL); INSERT INTO schema_version VALUES(30);
     CREATE TABLE sessions(id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, cwd TEXT, git_repo_root TEXT);
     INSERT INTO sessions VALUES('s1', 'telegram', 1.0, ${sql(`${home}/project`)}, ${sql(`${home}/project`)});
     CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content TEXT,
       timestamp REAL NOT NULL);
     INSERT INTO messages VALUES(1, 's1', 'user', 'when does the harbour close?', 1.0);
     CREATE VIRTUAL TABLE messages_fts USING fts5(content);
     INSERT INTO messages_fts VALUES('when does the harbour close?');
     CREATE TABLE session_turn_leases(conversation_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL);
     INSERT INTO session_turn_leases VALUES('s1', 'pid=4711', 1.0, 9999999999.0);
     CREATE TABLE compression_locks(session_id TEXT PRIMARY KEY, holder TEXT NOT NULL, acquired_at REAL NOT NULL, expires_at REAL NOT NULL);
     CREATE TABLE gateway_heartbeats(backend_id TEXT PRIMARY KEY, pid INTEGER NOT NULL, started_at REAL NOT NULL, last_heartbeat REAL NOT NULL);
     INSERT INTO gateway_heartbeats VALUES('b1', 4711, 1.0, 2.0);`,
  );
  for (const path of ['memory_store.db', 'kanban.db', 'response_store.db', 'cron/executions.db', 'retaindb_queue.db', 'unheard-of.db'])
    database(make, path);
  database(make, 'gateway/discord_message_recovery.db');
  database(make, 'state-snapshots/1/state.db');
  make.file('state.db.retired-wal-1/state.db', 'set aside\n');
  make.json('desktop.json', { lastFolder: `${home}/project` });
  make.json('mcp.json', { servers: { search: { command: `${home}/bin/search`, env: { KEY: canary('hermes-mcp-key') } } } });
  agent(make, 'profiles/night/', home);
  credentials(make, 'profiles/night/');
  database(make, 'profiles/night/state.db');
  make.file('profiles/night/node/bin/node', 'a program\n');
  make.file('profiles/night/cache/images/moon.png', 'the only copy\n');
}

function database(make: Maker, path: string): void {
  make.database(path, "CREATE TABLE note(text); INSERT INTO note VALUES('the harbour closes at six');");
}
