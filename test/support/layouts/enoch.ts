import { canary, Maker, type LayoutOptions } from './make.ts';

/**
 * Makes a small checkout with the names that Enoch uses: with the identity in the body and journals beside the state
 * ('old'), or with a self of its own and artifacts apart ('new'). It is made by hand and is no output of the program.
 */
export function buildEnoch(directory: string, { era, home }: LayoutOptions): void {
  const make = new Maker(directory);
  body(make);
  state(make);
  make.file(
    '.agent/instance.yaml',
    `schema_version: 1\nworktree:\n  path: "${make.root}"\n  source_repo: "${home}/enoch"\n  branch: "main"\nstate:\n  home: ".enoch"\n`,
  );
  make.link('docs/latest.md', 'guide.md');
  make.link('docs/gone.md', 'nowhere.md');
  make.link('.enoch/artifacts/learning/shared', `${home}/learning`);
  if (era === 'old') oldState(make);
  else newState(make);
}

function body(make: Maker): void {
  make.files({
    'genesis.toml': '[genesis]\nbody_paths = [".gitignore", "LICENSE", "bin", "pyproject.toml", "src/enoch", "tests"]\n',
    '.genesis-agent': 'name=enoch\n',
    '.agent/lineage.yaml': 'ancestor: seth\ngeneration: 4\n',
    '.gitignore': '.enoch/\n',
    LICENSE: 'a licence\n',
    'README.md': '# Enoch\n',
    'pyproject.toml': '[project]\nname = "enoch"\n',
    'uv.lock': 'version = 1\n',
    'src/enoch/__init__.py': '',
    'src/enoch/__pycache__/agent.cpython-312.pyc': 'compiled\n',
    'src/enoch.egg-info/PKG-INFO': 'Name: enoch\n',
    'src/enoch/skills/work/SKILL.md': '# Work\n',
    'tests/test_agent.py': 'def test(): pass\n',
    'libraries/telegram/src/core.py': 'pass\n',
    'docs/guide.md': '# Guide\n',
    'unheard-of.bin': 'what no rule knows\n',
  });
  make.file('bin/enoch-daemon', '#!/bin/sh\nexit 0\n', 0o755);
  make.repository('.', 'https://example.invalid/enoch.git');
}

/** What both have in `.enoch/`: a task in flight, a cursor, an outbox, an epoch, a lock that was left. */
function state(make: Maker): void {
  make.secret('.enoch/config.yaml', `telegram:\n  token: ${canary('enoch-telegram-token')}\n`);
  make.json('.enoch/state_manifest.json', {
    schema_version: 1,
    state_version: 1,
    schemas: { 'task_queue.json': 12, 'memory/long_term.json': 1 },
  });
  make.json('.enoch/memory/long_term.json', { schema_version: 1, memories: [{ text: 'the harbour closes at six' }] });
  make.json('.enoch/task_queue.json', {
    schema_version: 12,
    next_id: 9,
    pending: [{ id: 8, text: 'sound the horn' }],
    paused: [],
    running: { id: 7, text: 'watch the tide' },
    history: [],
  });
  make.json('.enoch/cron.json', { schema_version: 3, next_id: 2, active: [{ id: 1, schedule: '0 8 * * *' }], history: [] });
  make.json('.enoch/backlog.json', { schema_version: 2, next_id: 1, pending: [], history: [] });
  make.json('.enoch/daemon_epoch.json', {
    schema_version: 1,
    current: { token: '3f9a', generation: 41, provider: 'telegram', pid: 4711, started_at: '2026-08-01T10:00:00Z' },
  });
  make.json('.enoch/codex_sessions.json', { schema_version: 1, sessions: { main: 'a' } });
  make.json('.enoch/channels/telegram/cursor.json', { schema_version: 1, cursor: 41 });
  make.json('.enoch/channels/telegram/notifications.json', {
    schema_version: 1,
    notifications: { n1: { text: 'the tide turns', sent: false } },
  });
  make.lines('.enoch/task_event_receipts.jsonl', [{ task: 7, event: 'started' }]);
  make.files({
    '.enoch/task_queue.json.lock': '',
    '.enoch/memory/.long_term.json.3f9a.tmp': '{"half":',
    '.enoch/dependencies/telegram/.lock': '',
    '.enoch/dependencies/telegram/core.py': 'pass\n',
    '.enoch/backups/state-v1-20260801-3f9a/config.yaml': `token: ${canary('enoch-backup-token')}\n`,
  });
}

function oldState(make: Maker): void {
  make.file('src/enoch/identity.yaml', 'name: Enoch\nbody:\n  package: enoch\n');
  make.json('.agent/lineage_inbox.json', { candidates: [] });
  make.json('.enoch/evolve_brainstorm_fallback.json', { schema_version: 1, attempts: {} });
  make.json('.enoch/pending_evolve_adoptions.json', { schema_version: 1, adoptions: [] });
  make.lines('.enoch/task_events.jsonl', [{ task: 1, event: 'done' }]);
  make.lines('.enoch/experience.jsonl', [{ text: 'tides turn' }]);
  make.file('.enoch/logs/conversations/2026-07-01.jsonl', '{}\n');
}

function newState(make: Maker): void {
  make.file('src/enoch/body.yaml', 'package: enoch\nrole: agent\n');
  make.secret('.enoch/self.json', { version: 1, designation: 'Enoch' });
  make.json('.enoch/extension_schedules.json', { schema_version: 1, schedules: [{ id: 'x', every: 3600 }] });
  make.json('.enoch/evolve_candidates.json', { schema_version: 8, candidates: [] });
  make.json('.enoch/lineage/inbox.json', { schema_version: 2, candidates: [], latest_heads: {} });
  make.json('.enoch/migration_target.json', { schema_version: 1, migration_id: '3f9a', status: 'imported', target_host: 'old-host' });
  make.json('.enoch/extensions/notes/state.json', { notes: 1 });
  make.lines('.enoch/artifacts/task_events.jsonl', [{ task: 7, event: 'started' }]);
  make.lines('.enoch/artifacts/logs/conversations/2026-08-01.jsonl', [{ role: 'user', text: 'when does the harbour close?' }]);
  make.file('.enoch/artifacts/learning/tides.md', 'Tides turn twice a day.\n');
}
