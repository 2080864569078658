import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { peekHeader } from '../../src/capture/lane/pieces.ts';
import claudeCode from '../../src/profile/claude-code.json' with { type: 'json' };
import codex from '../../src/profile/codex.json' with { type: 'json' };
import enoch from '../../src/profile/enoch.json' with { type: 'json' };
import { compileGlob } from '../../src/profile/glob.ts';
import hermes from '../../src/profile/hermes.json' with { type: 'json' };
import letta from '../../src/profile/letta.json' with { type: 'json' };
import openclaw from '../../src/profile/openclaw.json' with { type: 'json' };
import { compileProfile, type Classification, type FileHeader } from '../../src/profile/profile.ts';
import { buildClaudeCode, slugOf } from '../support/layouts/claude-code.ts';
import { buildCodex } from '../support/layouts/codex.ts';
import { buildEnoch } from '../support/layouts/enoch.ts';
import { buildHermes } from '../support/layouts/hermes.ts';
import { buildLetta } from '../support/layouts/letta.ts';
import type { LayoutOptions } from '../support/layouts/make.ts';
import { buildOpenclaw } from '../support/layouts/openclaw.ts';
import { has } from '../support/tools.ts';

interface Layout {
  readonly data: {
    readonly detect: readonly (readonly string[])[];
    readonly relocate: readonly { readonly match: string; readonly as: string }[];
    readonly onMove: readonly { readonly match: string }[];
  };
  readonly build: (directory: string, options: LayoutOptions) => void;
  /** Where the tree lies below the home directory. */
  readonly place: string;
}

const LAYOUTS: Readonly<Record<string, Layout>> = {
  openclaw: { data: openclaw, build: buildOpenclaw, place: '.openclaw' },
  hermes: { data: hermes, build: buildHermes, place: '.hermes' },
  'claude-code': { data: claudeCode, build: buildClaudeCode, place: '.claude' },
  codex: { data: codex, build: buildCodex, place: '.codex' },
  letta: { data: letta, build: buildLetta, place: '.letta' },
  enoch: { data: enoch, build: buildEnoch, place: 'enoch' },
};

/** What paths are: class and flags, then paths, of which one may begin with what its first bytes say and `!`. */
const TABLES: Readonly<Record<string, string>> = {
  openclaw: `
    identity: workspace/SOUL.md workspace-night/IDENTITY.md workspace/AGENTS.md
    identity regenerable: workspace/BOOTSTRAP.md
    identity abs-paths: workspace/TOOLS.md
    memory: workspace/MEMORY.md workspace/USER.md workspace/memory/2026-08-01.md workspace/memory/.dreams/recall.json
      workspace/.git/HEAD
    memory append-only abs-paths: agents/main/agent/codex-home/sessions/2026/08/01/rollout-a.jsonl agents/main/sessions/s1.jsonl
    memory regenerable: workspace/.git/objects/3f/9a workspace/.git/refs/heads/a.tmp sqlite!memory/main.sqlite memory/lancedb/a.lance
      agents/main/qmd/index
    memory secret-bearing single-writer: sqlite!agents/main/agent/openclaw-agent.sqlite
    memory unclassified: identity/other.json ._a agents/main/agent/later.json
    workflow: workspace/.openclaw/workspace-state.json sqlite!a
    workflow abs-paths: sqlite!agents/main/agent/codex-home/state_5.sqlite agents/main/sessions/sessions.json
    workflow cursor: telegram/update-offset-default.json state/telegram/update-offset-default.json
    workflow queue: cron/jobs.json delivery-queue/d1.json session-delivery-queue/e1.json
    workflow secret-bearing abs-paths host-bound single-writer: sqlite!state/openclaw.sqlite
    config abs-paths: exec-approvals.json
    config secret-bearing abs-paths: openclaw.json clawdbot.json
    secret ratchet secret-bearing: agents/main/agent/codex-home/auth.json credentials/whatsapp/default/creds.json
      matrix/accounts/ada/3f9a/crypto.json
    secret secret-bearing: workspace/project/.env agents/main/agent/auth-profiles.json agents/main/agent/models.json
      credentials/apns/key.p8 .env openclaw.json.bak.1 moltbot.json.rejected.1 plugins/market/token.json
    secret secret-bearing host-bound: devices/paired.json
    body: workspace/skills/tides/SKILL.md skills/tides/yarn.lock agents/main/agent/workshop-skills/knots/SKILL.md
      extensions/notes/index.js extensions/notes/models/a.bin
    artifact: workspace/project/.git/HEAD workspace/project/models/a.bin workspace/project/yarn.lock sqlite!workspace/project/notes.db
      agents/main/sessions/s0.jsonl.reset.2026-07-01 agents/main/sessions/s0.jsonl.zst cron/jobs.json.migrated media/inbound/photo.jpg
    artifact append-only: agents/main/sessions/s1.trajectory.jsonl cron/runs/j1.jsonl
    host secret-bearing host-bound: identity/device.json browser/ada/user-data/Default/Cookies
    volatile: workspace/memory/.dreams/recall.lock workspace/.git/index.lock agents/main/sessions/s1.jsonl.lock
      agents/main/sessions/.usage-cost-cache.json exec-approvals.sock sqlite!tmp/openclaw-1000/gateway.lock.sqlite logs/gateway.log
      appledouble!._a
    volatile regenerable: skills/tides/node_modules/dep/yarn.lock agents/main/agent/codex-home/tmp/arg0/link memory/main.sqlite.tmp-1
      models/a.bin plugin-skills/notes extensions/notes/node_modules/dep/index.js
  `,
  hermes: `
    identity: SOUL.md profiles/night/SOUL.md profile.yaml
    memory: memories/MEMORY.md USER.md knowledge/tides.md sqlite!memory_store.db
    memory abs-paths single-writer: sqlite!state.db sqlite!profiles/night/state.db
    memory append-only: sessions/a.jsonl
    memory unclassified: profiles/night/hermes-agent/run_agent.py
    workflow: sqlite!kanban.db sqlite!kanban/boards/a.db channel_directory.json
    workflow cursor: sqlite!gateway/discord_message_recovery.db
    workflow queue: sqlite!retaindb_queue.db cron/jobs.json sqlite!cron/executions.db
    workflow secret-bearing: webhook_subscriptions.json
    config abs-paths: desktop.json
    config secret-bearing abs-paths: config.yaml
    secret ratchet secret-bearing: platforms/whatsapp/session/creds.json weixin/accounts/1.json auth.json
    secret secret-bearing: profiles/night/.env mcp-tokens/search.json vault.json.enc config.yaml.bak-1
    body: skills/tides/SKILL.md skills/.archive/knots/SKILL.md skills/hermes-agent/SKILL.md skills/tides/models/small.bin
      plugins/notes/uv.lock local/run.py
    artifact: cron/output/j1/a.md plans/a.md cache cache/images/tide.png cache/citations/ledger.jsonl image_cache/old.png
    artifact append-only secret-bearing: .hermes_history
    artifact secret-bearing: home/.netrc
    host host-bound: gateway_state.json processes.json
    host secret-bearing host-bound: browser-profile/Default/Cookies
    volatile: gateway.pid auth.lock desktop/interrupted_turns.json logs/gateway.log
    volatile regenerable: plugins/notes/.venv/bin/python cache/catalog.json models/large.gguf profiles/night/node/bin/node
      hermes-agent/run_agent.py
    volatile secret-bearing: backups/a.zip sqlite!state-snapshots/1/state.db sqlite!state.db.pre-update-emergency-1.bak
      state.db.retired-wal-1/state.db
  `,
  'claude-code': `
    identity: CLAUDE.md rules/brief.md
    memory: projects/-home-ada/memory/MEMORY.md projects/-home-ada/0b9d/session-memory/summary.md
      projects/-home-ada/0b9d/subagents/agent-1.meta.json
    memory append-only abs-paths: projects/-home-ada/0b9d.jsonl projects/-home-ada/agent-1.jsonl
      projects/-home-ada/0b9d/subagents/agent-1.jsonl
    memory append-only abs-paths secret-bearing: history.jsonl
    memory unclassified: later/a.json
    workflow: projects/-home-ada/0b9d/workflows/wf_1.json plans/a.md sqlite!__store.db
    workflow abs-paths: projects/-home-ada/.session-aliases
    workflow queue: tasks/0b9d/1.json todos/0b9d.json
    config: keybindings.json
    config secret-bearing abs-paths: settings.json settings.local.json
    config secret-bearing abs-paths host-bound single-writer: .claude.json
    secret ratchet secret-bearing: .credentials.json
    secret secret-bearing: backups/.claude.json.corrupted.1
    body: skills/tides/SKILL.md plugins/marketplaces/market/marketplace.json skills/tides/cache/a
    artifact: projects/-home-ada/0b9d/tool-results/t1.txt file-history/0b9d/3f9a@v1
    host host-bound: chrome/host
    volatile: sessions/4711.json ide/4711.lock
    volatile regenerable: plugins/cache/market/notes/plugin.json paste-cache/1.txt shell-snapshots/a.sh
  `,
  codex: `
    identity: AGENTS.md AGENTS.override.md instructions.md
    memory: memories/MEMORY.md sqlite!memories_2.sqlite sessions/2026/08/01/rollout-a.jsonl.zst
    memory append-only: session_index.jsonl
    memory append-only abs-paths: sessions/2026/08/01/rollout-a.jsonl archived_sessions/rollout-b.jsonl
    memory append-only secret-bearing: history.jsonl
    memory regenerable: memories/.git/objects/3f/9a
    memory unclassified: later/a.json
    workflow: sqlite!thread_history_1.sqlite sqlite!later_1.sqlite
    workflow abs-paths: sqlite!state_5.sqlite sqlite!state_6.sqlite .codex-global-state.json
    workflow queue: sqlite!queue_1.sqlite sqlite!goals_1.sqlite
    config abs-paths: rules/default.rules
    config secret-bearing abs-paths: config.toml
    secret ratchet secret-bearing: auth.json
    secret secret-bearing: secrets/a config.toml.bak
    body: skills/tides/SKILL.md skills/tides/tmp/a
    body regenerable: skills/.system/basics/SKILL.md
    artifact: generated_images/tide.png
    host host-bound: installation_id process_manager/4711.json
    volatile regenerable: sqlite!logs_2.sqlite log/codex-tui.log tmp/arg0/codex-arg0
  `,
  letta: `
    identity: agents/agent-1/memory/system/persona.md lc-local-backend/memfs/agent-1/memory/system/persona.md memory/system/persona.md
    memory: agents/agent-1/memory/system/human.md agents/agent-1/memory/reference/harbour.md agents/agent-1/memory/.git/HEAD
    memory append-only: transcripts/agent-1/default/transcript.jsonl lc-local-backend/conversations/a/messages.jsonl
    memory regenerable: agents/agent-1/memory/.git/objects/3f/9a
    memory unclassified: later/a.json
    workflow queue host-bound: crons.json
    config secret-bearing: channels/telegram/accounts.json
    config secret-bearing abs-paths host-bound: settings.json
    secret ratchet secret-bearing: lc-local-backend/providers/auth.json channels/whatsapp/auth/creds.json
    body: agents/agent-1/memory/skills/knots/SKILL.md agents/pilot.md channels/whatsapp/plugin.mjs
    host host-bound: agents/agent-1/memory/.git/hooks/post-commit
    host secret-bearing: agents/agent-1/memory/.git/config
    volatile: crons.lock/owner.json
    volatile regenerable: channels/whatsapp/runtime/node_modules/dep/index.js
  `,
  enoch: `
    identity: src/enoch/identity.yaml .enoch/self.json .agent/lineage.yaml .genesis-agent
    memory: .enoch/memory/long_term.json
    memory unclassified: .enoch/later.json
    workflow: .enoch/state_manifest.json .enoch/evolve_candidates.json .enoch/codex_sessions.json .enoch/last_codex_input.json
      .enoch/extensions/notes/state.json
    workflow append-only: .enoch/task_event_receipts.jsonl
    workflow cursor: .enoch/channels/telegram/cursor.json
    workflow host-bound: .enoch/daemon_epoch.json
    workflow queue: .agent/lineage_inbox.json .enoch/task_queue.json .enoch/cron.json .enoch/evolve_brainstorm_fallback.json
      .enoch/lineage/inbox.json .enoch/channels/telegram/notifications.json
    config abs-paths host-bound: .agent/instance.yaml
    config secret-bearing: .enoch/config.yaml
    body: genesis.toml src/enoch/body.yaml src/enoch/token_budget.py libraries/telegram/uv.lock uv.lock
    artifact: .git/index .enoch/artifacts/learning/tides.md
    artifact append-only: .enoch/artifacts/task_events.jsonl .enoch/task_events.jsonl .enoch/logs/conversations/2026-07-01.jsonl
    host host-bound: .enoch/migration_source.json
    volatile: .enoch/task_queue.json.lock
    volatile regenerable: src/enoch/__pycache__/a.pyc src/enoch.egg-info/PKG-INFO .enoch/dependencies/telegram/core.py
    volatile secret-bearing: .enoch/backups/state-v1-1/config.yaml
  `,
};

for (const [name, { data }] of Object.entries(LAYOUTS)) {
  const profile = compileProfile(data);

  test(`${name}: each path has its class and its flags`, () => {
    const rows = rowsOf(TABLES[name] ?? '');
    const found = rows.map(({ path, header }) => {
      const { class: kind, flags } = profile.classify(path, header);
      return { path, header, kind: [kind, ...flags].join(' ') };
    });
    expect(rows.length).toBeGreaterThan(20);
    expect(found).toEqual(rows);
  });

  test(`${name}: its patterns are patterns, and the name of a directory leaves nothing out elsewhere`, () => {
    for (const { match } of [...profile.data.rules, ...data.relocate, ...data.onMove]) expect(() => compileGlob(match)).not.toThrow();
    for (const path of ['skills/a/models/b', 'skills/a/tmp/b', 'skills/a/cache/b', 'skills/a/backups/b', 'skills/a/logs/b'])
      expect(profile.classify(path).class).not.toMatch(/volatile|host/);
  });
}

for (const [name, layout] of Object.entries(LAYOUTS))
  for (const era of ['old', 'new'] as const) {
    const made = (): Tree => makeTree(layout, era);

    test.skipIf(!has('sqlite3'))(`${name}, ${era}: it is found, and a rule knows each file but the one that nobody has heard of`, () => {
      const { paths, profile } = made();
      const fits = layout.data.detect.some((all) => all.every((glob) => paths.some((path) => reaches(glob, path))));
      expect(fits).toBe(true);
      expect(paths.filter((path) => profile(path).rule === null)).toEqual(['unheard-of.bin']);
    });

    test.skipIf(!has('sqlite3'))(`${name}, ${era}: nothing that travels lies below a directory that does not`, () => {
      const { paths, profile, byName } = made();
      for (const path of paths) {
        if (isLeftOut(profile(path))) continue;
        for (let above = dirname(path); above !== '.'; above = dirname(above))
          expect([path, isLeftOut(byName(above))]).toEqual([path, false]);
      }
    });

    test.skipIf(!has('sqlite3'))(`${name}, ${era}: what holds a credential is a secret, or says so, or stays`, () => {
      const { root, paths, profile } = made();
      const open = paths.filter((path) => {
        const { class: kind, flags } = profile(path);
        if (kind === 'secret' || kind === 'volatile' || flags.includes('secret-bearing')) return false;
        return lstatSync(join(root, path)).isFile() && readFileSync(join(root, path)).includes('CANARY-');
      });
      expect(open).toEqual([]);
    });
  }

for (const [name, layout] of Object.entries(LAYOUTS))
  test.skipIf(!has('sqlite3'))(`${name}: each place of absolute paths, and each thing done after a move, is in one of both trees`, () => {
    const trees = (['old', 'new'] as const).map((era) => makeTree(layout, era));
    const holds = ({ root, home, paths }: Tree, match: string, as: string): boolean =>
      paths.filter((path) => reaches(match, path)).some((path) => as === 'slug' || readFileSync(join(root, path)).includes(home));
    const unmet = [
      ...layout.data.relocate.filter(({ match, as }) => !match.startsWith('~/') && !trees.some((tree) => holds(tree, match, as))),
      ...layout.data.onMove.filter(({ match }) => !trees.some(({ paths }) => paths.some((path) => reaches(match, path)))),
    ];
    expect(unmet.map(({ match }) => match)).toEqual([]);
  });

test('a slug is the path with `-` for what is neither letter nor digit', () => {
  expect(slugOf('/home/ada/my_project.v2')).toBe('-home-ada-my-project-v2');
});

interface Row {
  readonly path: string;
  readonly header: FileHeader | undefined;
  readonly kind: string;
}

function rowsOf(table: string): readonly Row[] {
  const rows: Row[] = [];
  let kind = '';
  for (const line of table.trim().split('\n')) {
    const [paths = '', head = kind] = line.trim().split(': ').reverse();
    kind = head;
    for (const path of paths.split(' ')) {
      const header = (['sqlite', 'appledouble'] as const).find((one) => path.startsWith(`${one}!`));
      rows.push({ path: header === undefined ? path : path.slice(header.length + 1), header, kind });
    }
  }
  return rows;
}

/** A tree that was made: its files and links, and what the profile says of them. */
interface Tree {
  readonly root: string;
  readonly home: string;
  readonly paths: readonly string[];
  readonly profile: (path: string) => Classification;
  readonly byName: (path: string) => Classification;
}

function makeTree({ data, build, place }: Layout, era: 'old' | 'new'): Tree {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-test-'));
  onTestFinished(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  const home = join(directory, 'home', 'ada');
  const root = join(home, place);
  build(root, { era, home });
  const paths = [...filesOf(root, '')];
  const compiled = compileProfile(data);
  const headerOf = (path: string): FileHeader | undefined => (lstatSync(path).isFile() ? peekHeader(path) : undefined);
  return {
    root,
    home,
    paths: paths.sort(),
    profile: (path) => compiled.classify(path, headerOf(join(root, path))),
    byName: (path) => compiled.classify(path),
  };
}

/** Files and links; no link is followed. */
function* filesOf(root: string, above: string): Generator<string> {
  for (const entry of readdirSync(join(root, above), { withFileTypes: true })) {
    const path = join(above, entry.name);
    if (entry.isDirectory()) yield* filesOf(root, path);
    else yield path;
  }
}

/** Whether a glob fits a path or a directory above it. */
function reaches(glob: string, path: string): boolean {
  const pattern = compileGlob(glob.replace(/\/$/, ''));
  for (let at = path; at !== '.'; at = dirname(at)) if (pattern.test(at)) return true;
  return false;
}

function isLeftOut({ class: kind }: Classification): boolean {
  return kind === 'volatile' || kind === 'host';
}
