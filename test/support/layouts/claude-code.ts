import { canary, Maker, type LayoutOptions } from './make.ts';

/**
 * Makes a small config directory with the names that Claude Code uses: of its first year ('old'), or with memories and
 * sub-agents below each project ('new'). It is made by hand and is no output of the program.
 */
export function buildClaudeCode(directory: string, { era, home }: LayoutOptions): void {
  const make = new Maker(directory);
  const project = `${home}/project`;
  const slug = `projects/${slugOf(project)}`;
  common(make, { project, slug, home });
  if (era === 'old') oldState(make);
  else newState(make, { project, slug });
}

/** The name of the directory that stands for a path: each character that is neither letter nor digit becomes `-`. */
export function slugOf(path: string): string {
  return path.replace(/[^A-Za-z0-9]/g, '-');
}

function common(make: Maker, { project, slug, home }: { readonly project: string; readonly slug: string; readonly home: string }): void {
  make.file('CLAUDE.md', '# Ada\n\nBe brief.\n');
  make.json('settings.json', {
    env: { SEARCH_KEY: canary('claude-code-settings-env') },
    hooks: { Stop: [{ hooks: [{ type: 'command', command: `${home}/bin/report` }] }] },
    permissions: { additionalDirectories: [project] },
  });
  make.secret('.credentials.json', { refreshToken: canary('claude-code-refresh') });
  make.secret('backups/.claude.json.backup.1780000000', { mcpServers: { search: { env: { KEY: canary('claude-code-backup') } } } });
  make.lines(`${slug}/0b9d.jsonl`, [
    {
      type: 'user',
      version: '2.1.0',
      cwd: project,
      gitBranch: 'main',
      sessionId: '0b9d',
      message: { role: 'user', content: `what is in ${project}?` },
    },
    { type: 'assistant', cwd: project, sessionId: '0b9d', message: { role: 'assistant', content: [{ type: 'text', text: 'a harbour' }] } },
  ]);
  make.lines('history.jsonl', [{ display: `paste ${canary('claude-code-pasted')}`, timestamp: 1, project, sessionId: '0b9d' }]);
  make.files({
    'file-history/0b9d/3f9a@v1': 'before\n',
    'skills/tides/SKILL.md': '# Tides\n',
    'agents/pilot.md': '---\nname: pilot\n---\n',
    'commands/tide.md': 'tell the tide\n',
    'plans/harbour.md': '# Plan\n',
    'plugins/cache/market/notes/1.0.0/plugin.json': '{}\n',
    'plugins/marketplaces/market/marketplace.json': '{}\n',
    'shell-snapshots/snapshot-bash-1.sh': `export KEY=${canary('claude-code-shell')}\n`,
    'debug/0b9d.txt': 'debug\n',
    'statsig/cached': '{}\n',
    'ide/4711.lock': '{"pid":4711}\n',
    '.last-cleanup': '2026-08-01\n',
    'unheard-of.bin': 'what no rule knows\n',
  });
  make.json('plugins/installed_plugins.json', {
    version: 2,
    plugins: { 'notes@market': [{ scope: 'user', installPath: `${make.root}/plugins/cache/market/notes/1.0.0` }] },
  });
  make.link('debug/latest', `${make.root}/debug/0b9d.txt`);
  make.link('skills/shared', `${home}/.agents/skills/shared`);
  make.link('skills/gone', '../gone');
  make.repository('plugins/marketplaces/market', 'https://example.invalid/market.git');
}

function oldState(make: Maker): void {
  make.json('todos/0b9d-agent-0b9d.json', [{ content: 'sound the horn', status: 'pending' }]);
  make.database('__store.db', "CREATE TABLE base_messages(uuid TEXT, cwd TEXT); INSERT INTO base_messages VALUES('0b9d', NULL);");
  make.json('settings.local.json', { permissions: { allow: ['Bash(ls:*)'] } });
}

function newState(make: Maker, { project, slug }: { readonly project: string; readonly slug: string }): void {
  make.files({
    [`${slug}/memory/MEMORY.md`]: '- [harbour](harbour.md)\n',
    [`${slug}/memory/harbour.md`]: '---\nname: harbour\n---\nCloses at six.\n',
    [`${slug}/0b9d/session-memory/summary.md`]: 'asked about the harbour\n',
    [`${slug}/0b9d/tool-results/t1.txt`]: 'long output\n',
    [`${slug}/.session-aliases`]: `${make.root}/${slug}\n`,
    'rules/brief.md': 'Be brief.\n',
    'output-styles/log.md': '---\nname: log\n---\n',
    'session-env/0b9d/hook-1.sh': 'export A=1\n',
    'paste-cache/1.txt': 'pasted\n',
    'keybindings.json': '{}\n',
  });
  make.lines(`${slug}/0b9d/subagents/agent-1.jsonl`, [{ type: 'user', isSidechain: true, cwd: project, sessionId: '0b9d' }]);
  make.json(`${slug}/0b9d/subagents/agent-1.meta.json`, { type: 'pilot' });
  make.json(`${slug}/0b9d/workflows/wf_1.json`, { status: 'done' });
  make.json(`${slug}/sessions-index.json`, {
    version: 1,
    originalPath: project,
    entries: [{ sessionId: '0b9d', fullPath: `${make.root}/${slug}/0b9d.jsonl`, projectPath: project }],
  });
  make.json('tasks/0b9d/1.json', { id: '1', subject: 'sound the horn', status: 'pending' });
  make.json('jobs/0b9d/state.json', { status: 'waiting' });
  make.json('sessions/4711.json', { pid: 4711, sessionId: '0b9d', cwd: project });
  // Where CLAUDE_CONFIG_DIR is set, it lies here and not in the home directory.
  make.secret('.claude.json', {
    projects: { [project]: { hasTrustDialogAccepted: true, mcpServers: { search: { env: { KEY: canary('claude-code-mcp') } } } } },
  });
}
