import { canary, Maker, type LayoutOptions } from './make.ts';

const AGENT = 'agent-5f3c';

/**
 * Makes a small home with the names that Letta Code uses: memories of agents that a server keeps ('old'), or agents that
 * this machine keeps whole ('new'). It is made by hand and is no output of the program.
 */
export function buildLetta(directory: string, { era, home }: LayoutOptions): void {
  const make = new Maker(directory);
  make.secret('settings.json', {
    env: { LETTA_API_KEY: canary('letta-api-key') },
    deviceId: 'old-host',
    hooks: { Stop: [{ command: `${home}/bin/report` }] },
  });
  make.json('remote-settings.json', { cwdByConversation: { 'conv-1': `${home}/project` } });
  make.json('crons.json', {
    version: 1,
    scheduler_owner: { pid: 4711, token: '3f9a', started_at: '2026-08-01T10:00:00Z' },
    tasks: [{ id: 'c1', agent_id: AGENT, cron: '0 8 * * *', status: 'active' }],
  });
  make.json('crons.lock/owner.json', { pid: 4711 });
  make.lines('runs/c1.jsonl', [{ ts: 1, jobId: 'c1', status: 'ok' }]);
  make.lines(`transcripts/${AGENT}/default/transcript.jsonl`, [{ kind: 'user', text: 'when does the harbour close?' }]);
  make.json(`transcripts/${AGENT}/default/state.json`, { line: 1 });
  make.files({
    '.lettasettings': 'MAX_ENTRIES=50000\n',
    'skills/tides/SKILL.md': '# Tides\n',
    'agents/pilot.md': '---\nname: pilot\n---\n',
    'mods/halo.mjs': 'export {};\n',
    'plans/calm-blue-tide.md': '# Plan\n',
    'unheard-of.bin': 'what no rule knows\n',
  });
  channel(make);
  make.link('skills/shared', `${home}/.agents/skills/shared`);
  make.link('skills/gone', '../gone');
  if (era === 'old') memory(make, `agents/${AGENT}/memory`);
  else local(make);
}

function channel(make: Maker): void {
  make.secret('channels/telegram/accounts.json', { accounts: [{ account_id: '1', token: canary('letta-telegram-token') }] });
  make.file('channels/telegram/routing.yaml', 'routes: []\n');
  make.json('channels/whatsapp/channel.json', { id: 'whatsapp', entry: './plugin.mjs' });
  make.file('channels/whatsapp/plugin.mjs', 'export {};\n');
  make.secret('channels/whatsapp/auth/creds.json', { noiseKey: canary('letta-whatsapp-noise') });
  make.file('channels/whatsapp/runtime/node_modules/dep/index.js', 'module.exports = 1;\n');
}

/** A memory: what is always in view, what is looked up, skills, and its history in git. */
function memory(make: Maker, path: string): void {
  make.files({
    [`${path}/system/persona.md`]: '---\ndescription: who I am\n---\nCalm, curious, brief.\n',
    [`${path}/system/human.md`]: 'Drinks tea.\n',
    [`${path}/reference/harbour.md`]: 'Closes at six.\n',
    [`${path}/skills/knots/SKILL.md`]: '# Knots\n',
  });
  make.repository(path, `http://localhost:8283/v1/git/${AGENT}/state.git`);
  make.link(`${path}/reference/today.md`, 'harbour.md');
}

function local(make: Maker): void {
  memory(make, `lc-local-backend/memfs/${AGENT}/memory`);
  make.json('lc-local-backend/agents/YWdlbnQ.json', { id: AGENT, name: 'Ada', system: 'You are Ada.', model: 'main' });
  const conversation = 'lc-local-backend/conversations/ZGVmYXVsdA';
  make.json(`${conversation}/conversation.json`, { id: 'default', agent_id: AGENT, in_context_message_ids: ['m1'] });
  make.lines(`${conversation}/messages.jsonl`, [
    { id: 'm1', role: 'user', content: [{ type: 'text', text: 'when does the harbour close?' }] },
  ]);
  make.file(`${conversation}/messages.jsonl.pre-pi-backup-20260701-100000`, '{}\n');
  make.json(`${conversation}/manifest.json`, { backup_path: `${make.root}/${conversation}/messages.jsonl.pre-pi-backup-20260701-100000` });
  make.file('lc-local-backend/locks/agent-5f3c.lock', '4711\n');
  make.secret('lc-local-backend/providers/auth.json', { providers: { main: { auth: { refresh: canary('letta-provider-refresh') } } } });
}
