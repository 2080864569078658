// Prints, as Markdown, what `openclaw backup create` and perdure keep of the same state directory, and what only one of them does.
// usage: node scripts/compare-openclaw-backup.js [DIR]
// DIR is a state directory (better a copy: OpenClaw opens its databases). Without it one is made: OpenClaw is set up and runs a turn
// against a model server of the tests, and then files are added that other versions and longer use leave. OpenClaw is taken from
// where `npm run test:agents -- openclaw` installs it; perdure is what `npm run build` made.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('..', import.meta.url));
const programs = JSON.parse(readFileSync(join(here, 'test/agents/programs.json'), 'utf8'));
const cache = process.env.PERDURE_AGENTS_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'perdure-agents');
const [node, script] = ['node-24', 'openclaw'].map((name) => {
  const { packages, run } = programs[name];
  const path = join(cache, packages.join('+').replaceAll('/', '-'), run);
  if (!existsSync(path)) throw new Error(`${path} is not there: npm run test:agents -- openclaw installs it`);
  return path;
});

/** Files as other versions and longer use leave them; none is read before the backup is made. */
const ADDED = [
  'agents/main/sessions/s1.jsonl',
  'agents/main/sessions/sessions.json',
  'agents/main/sessions/s0.jsonl.reset.2026-07-01',
  'agents/main/agent/codex-home/sessions/2026/08/01/rollout-a.jsonl',
  'agents/main/agent/codex-home/tmp/arg0/apply_patch',
  'browser/ada/user-data/Default/Cookies',
  'credentials/whatsapp/default/creds.json',
  'cron/jobs.json',
  'cron/runs/j1.jsonl',
  'delivery-queue/d1.json',
  'dev/plugin/index.js',
  'devices/paired.json',
  'extensions/notes/index.js',
  'extensions/notes/node_modules/dep/index.js',
  'git/plugin/index.js',
  'identity/device.json',
  'logs/gateway.jsonl',
  'logs/gateway.txt',
  'media/inbound/photo.jpg',
  'memory/main.sqlite.tmp-1',
  'models/small.bin',
  'npm/node_modules/dep/index.js',
  'sandbox/skills-workspaces/a/SKILL.md',
  'service-env/gateway.env',
  'session-delivery-queue/e1.json',
  'sessions/old.jsonl',
  'telegram/update-offset-default.json',
  'tools/node/bin/node',
  'workspace/draft.tmp',
  'workspace/project/node_modules/dep/index.js',
  'workspace/project/server.pid',
  'workspace/project/yarn.lock',
];

const DATABASES = ['state/openclaw.sqlite', 'agents/main/agent/openclaw-agent.sqlite'];
const LARGE = { encoding: 'utf8', maxBuffer: 1 << 28 };

const work = mkdtempSync(join(tmpdir(), 'perdure-compare-'));
try {
  const given = process.argv[2];
  const state = given === undefined ? await makeState(join(work, 'home')) : resolve(given);
  const archive = join(work, 'backup.tar.gz');
  const before = new Map(DATABASES.filter((path) => existsSync(join(state, path))).map((path) => [path, rowsIn(join(state, path))]));
  const result = JSON.parse(openclaw(state, ['backup', 'create', '--json', '--output', archive]));
  const { paths } = JSON.parse(execFileSync(process.execPath, [join(here, 'bin/run.js'), 'profile', 'test', state, '--json'], LARGE)).data;
  console.log(tableOf(state, { result, paths, archived: archivedIn(archive, result) }));
  console.log(databasesOf(before, archive, result));
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** A state directory below a home, made by OpenClaw. */
async function makeState(home) {
  mkdirSync(home);
  const state = join(home, '.openclaw');
  const model = spawn(process.execPath, [join(here, 'test/agents/model-server.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [url] = await once(model.stdout.setEncoding('utf8'), 'data');
  try {
    const provider = ['--auth-choice', 'custom-api-key', '--custom-provider-id', 'fake', '--custom-base-url', `${url.trim()}/v1`];
    const key = ['--custom-model-id', 'fake-model', '--custom-api-key', 'canary', '--gateway-auth', 'token', '--gateway-token', 'canary'];
    const skipped = ['daemon', 'health', 'ui', 'channels', 'skills', 'search'].map((one) => `--skip-${one}`);
    openclaw(state, ['onboard', '--non-interactive', '--accept-risk', '--mode', 'local', ...provider, ...key, ...skipped, '--json']);
    openclaw(state, ['agent', '--local', '--json', '--session-key', 'agent:main:tide', '--message', '#tide look']);
  } finally {
    model.stdin.end();
  }
  for (const path of ADDED) {
    mkdirSync(dirname(join(state, path)), { recursive: true });
    writeFileSync(join(state, path), 'canary\n');
  }
  const queued =
    "INSERT INTO delivery_queue_entries(queue_name, id, status, entry_json, enqueued_at, updated_at) VALUES('a', '1', 'pending', '{}', 1, 1)";
  execFileSync('sqlite3', [join(state, 'state/openclaw.sqlite'), queued]);
  return state;
}

function openclaw(state, argv) {
  const path = [dirname(node), process.env.PATH].join(delimiter);
  const env = { PATH: path, HOME: dirname(state), OPENCLAW_STATE_DIR: state, OPENCLAW_NO_AUTO_UPDATE: '1', NO_COLOR: '1' };
  return execFileSync(node, [script, ...argv], { ...LARGE, env, stdio: ['ignore', 'pipe', 'ignore'], timeout: 300_000 });
}

/** The files and links of an archive, by where they were. */
function archivedIn(archive, { assets }) {
  const lines = execFileSync('tar', ['-tvzf', archive], LARGE).split('\n');
  const names = lines.flatMap((line) => {
    const [, type, name] = /^(.)\S+\s+\S+\s+\d+\s+\S+\s+\S+\s+(.*)$/.exec(line) ?? [];
    return type === undefined || type === 'd' ? [] : [type === 'l' ? name.split(' -> ')[0] : name];
  });
  return names.flatMap((name) => {
    const asset = assets.find(({ archivePath }) => name === archivePath || name.startsWith(`${archivePath}/`));
    return asset === undefined ? [] : [asset.sourcePath + name.slice(asset.archivePath.length)];
  });
}

function tableOf(state, { result, paths, archived }) {
  const inState = new Set(archived.map((path) => relative(state, path)).filter((path) => !path.startsWith('.perdure')));
  const isSidecar = (path) => /-(wal|shm|journal)$/.test(path);
  const isLeftOut = ({ class: kind }) => kind === 'volatile' || kind === 'host';
  const rows = new Map();
  const add = (of, { rule, class: kind, path, why }) => {
    const key = `${of} ${rule} ${kind}`;
    const row = rows.get(key) ?? { of, rule, kind, path, why, count: 0 };
    rows.set(key, { ...row, count: row.count + 1 });
  };
  const whyOf = (path) =>
    result.skipped.find(({ sourcePath, reason }) => reason !== 'covered' && reaches(sourcePath, join(state, path)))?.reason ?? '';
  for (const one of paths.filter(({ path }) => !isSidecar(path)))
    if (!isLeftOut(one) && !inState.has(one.path)) add('perdure', { ...one, why: whyOf(one.path) });
  const ruled = (path) => paths.find((one) => one.path === path || (one.path.endsWith('/') && path.startsWith(one.path)));
  for (const path of [...inState].filter((one) => !isSidecar(one)).sort()) {
    const one = ruled(path);
    if (one !== undefined && isLeftOut(one)) add('openclaw', { ...one, path, why: one.class });
  }
  const line = ({ path, rule, kind, count, why }) =>
    `| \`${path}\`${count > 1 ? ` and ${String(count - 1)} more` : ''} | \`${(rule ?? 'no rule').replaceAll('|', '\\|')}\` | ${kind} | ${why} |`;
  const section = (of, title, last) => [
    `### ${title}`,
    '',
    `| Path | Rule of the profile | Class | ${last} |`,
    '| --- | --- | --- | --- |',
    ...[...rows.values()].filter((row) => row.of === of).map(line),
    '',
  ];
  const { version } = JSON.parse(readFileSync(join(dirname(script), 'package.json'), 'utf8'));
  return [
    `OpenClaw ${version}: its archive has ${String(inState.size)} files of the state directory; perdure captures ${String(paths.filter((one) => !isLeftOut(one)).length)}.`,
    '',
    ...section('perdure', 'perdure keeps, `openclaw backup create` drops', 'Reason that OpenClaw gives'),
    ...section('openclaw', '`openclaw backup create` keeps, perdure leaves', 'Why'),
  ].join('\n');
}

function reaches(from, path) {
  return path === from || path.startsWith(`${from}/`);
}

/** Tables that have fewer rows in the archive than the state directory had before. */
function databasesOf(before, archive, { assets }) {
  const out = join(work, 'out');
  mkdirSync(out);
  execFileSync('tar', ['-xzf', archive, '-C', out]);
  const lines = [];
  for (const [path, live] of before) {
    const kept = rowsIn(join(out, assets[0].archivePath, path));
    for (const [table, count] of live) {
      const now = kept.get(table) ?? 0;
      if (now < count) lines.push(`| \`${path}\` | \`${table}\` | ${String(count)} | ${String(now)} |`);
    }
  }
  const head = [
    '### Rows that `openclaw backup create` drops',
    '',
    '| Database | Table | Rows | In the archive |',
    '| --- | --- | --- | --- |',
  ];
  return [...head, ...lines, ''].join('\n');
}

function rowsIn(database) {
  const ask = (sql) => execFileSync('sqlite3', ['-readonly', database, sql], LARGE).split('\n').filter(Boolean);
  const tables = ask("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name");
  return new Map(tables.map((table) => [table, Number(ask(`SELECT count(*) FROM "${table}"`)[0])]));
}
