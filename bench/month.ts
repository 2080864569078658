// A month of quarter hours: 2,880 checkpoints of a slightly changing tree, through the clock port, with the retention of a
// cron line once a day. Prints bytes of the store over unique bytes of content, and what the last checkpoints cost over the
// first ones. Not timed against peers; run it with: node bench/bundled.js month [CHECKPOINTS]
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import * as nodeFs from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { checkpoint } from '../src/actions/checkpoint.ts';
import { gc } from '../src/actions/gc.ts';
import { init } from '../src/actions/init.ts';
import type { Ports } from '../src/actions/session/ports.ts';
import { verify } from '../src/actions/verify.ts';
import { ownThread } from '../src/core/threads/job.ts';
import { createFiles } from '../src/core/files.ts';
import { readMachine } from '../src/providers/machine.ts';
import { findSqlite } from '../src/providers/sqlite/sqlite.ts';
import { createProcessTable } from '../src/providers/processes.ts';

const QUARTER = 15 * 60_000;
const PER_DAY = 96;
const total = Number(process.argv[2] ?? 2880);
const directory = mkdtempSync(join(tmpdir(), 'perdure-month-'));
const root = join(directory, 'ada');
const start = Date.now();
let now = start;
const ports: Ports = {
  files: createFiles(nodeFs),
  clock: { now: () => now, sleep: () => Promise.resolve() },
  threads: ownThread,
  processes: createProcessTable(),
  machine: readMachine(),
  environment: process.env,
  random: randomBytes,
  hostDirectory: join(directory, 'host'),
  start: { directory: root, exact: false },
  cwd: root,
  profileDirectory: join(directory, 'profiles'),
  home: directory,
  sqlite: findSqlite,
  progress: () => undefined,
  fileSystem: () => Promise.resolve(null),
};
const unique = new Map<string, number>();

/** Counts a content once: its bytes as they are, and as the codec of a frame would store them alone. */
let plain = 0;
function note(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; at += 16_384) {
    const part = bytes.subarray(at, at + 16_384);
    const key = createHash('sha256').update(part).digest('hex');
    if (unique.has(key)) continue;
    unique.set(key, brotliCompressSync(part, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }).length);
    plain += part.length;
  }
}

function sizeOf(path: string): { bytes: number; files: number; kinds: Record<string, number> } {
  let bytes = 0;
  let files = 0;
  const kinds: Record<string, number> = {};
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true }))
    if (entry.isFile() && !join(entry.parentPath, entry.name).includes('/local/')) {
      const { size } = statSync(join(entry.parentPath, entry.name));
      bytes += size;
      const kind =
        join(entry.parentPath, entry.name)
          .slice(path.length + 1)
          .split('/')[0] ?? '';
      kinds[kind] = (kinds[kind] ?? 0) + size;
      files++;
    }
  return { bytes, files, kinds };
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

try {
  for (const name of ['body', 'private/memory', 'private/state', 'artifacts']) mkdirSync(join(root, name), { recursive: true });
  const words = readFileSync('README.md', 'utf8').split(/\s+/);
  const prose = (count: number): string => Array.from({ length: count }, () => words[Math.floor(Math.random() * words.length)]).join(' ');
  for (let at = 0; at < 500; at++) {
    const text = `${prose(300)}\n`;
    writeFileSync(join(root, `private/memory/note-${String(at)}.md`), text);
    note(Buffer.from(text));
  }
  writeFileSync(join(root, 'private/self.json'), '{"version":1}\n');
  await init(ports, { directory: root, profile: 'native', recovery: null });
  const took: number[] = [];
  let log = '';
  for (let at = 1; at <= total; at++) {
    now = start + at * QUARTER;
    const line = `{"at":${String(now)},"say":"${prose(40)}"}\n`;
    log += line;
    appendFileSync(join(root, 'private/memory/session.jsonl'), line);
    const state = `{"turn":${String(at)},"task":"${prose(20)}"}\n`;
    writeFileSync(join(root, 'private/state/tasks.json'), state);
    note(Buffer.from(line));
    note(Buffer.from(state));
    if (at % 8 === 0) {
      const text = `${prose(300)}\n`;
      writeFileSync(join(root, `private/memory/note-${String(at % 500)}.md`), text);
      note(Buffer.from(text));
    }
    const before = performance.now();
    await checkpoint(ports, { declare: ['memory-repair'] });
    took.push(performance.now() - before);
    // The store's files are as old as the month says.
    if (at % PER_DAY === 0) {
      for (const entry of readdirSync(join(root, '.perdure'), { withFileTypes: true, recursive: true })) {
        const path = join(entry.parentPath, entry.name);
        if (entry.isFile() && statSync(path).mtimeMs < Date.now() + 1000 && !path.includes('/local/'))
          utimesSync(path, new Date(now), new Date(now));
      }
      if (process.argv[3] === '--gc') await gc(ports, { keep: { last: 96, hourly: 48, daily: 30 }, grace: 86_400_000, dryRun: false });
      process.stderr.write(`\rday ${String(at / PER_DAY)}`);
    }
  }
  const store = sizeOf(join(root, '.perdure'));
  const compressed = [...unique.values()].reduce((sum, one) => sum + one, 0);
  const check = await verify(ports, { path: null, input: (async function* () {})() });
  const early = median(took.slice(5, 15));
  const late = median(took.slice(-10));
  process.stdout.write(
    `\n${JSON.stringify({
      checkpoints: total,
      storeBytes: store.bytes,
      storeFiles: store.files,
      kinds: store.kinds,
      uniqueBytes: plain,
      uniqueCompressed: compressed,
      storeOverUnique: +(store.bytes / plain).toFixed(2),
      storeOverCompressed: +(store.bytes / compressed).toFixed(2),
      msAround10: +early.toFixed(1),
      msAtEnd: +late.toFixed(1),
      costRatio: +(late / early).toFixed(2),
      verify: check.status,
    })}\n`,
  );
} finally {
  rmSync(directory, { recursive: true, force: true });
}
