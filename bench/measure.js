// Runs one command as a user's script would, and says what it took.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether a program can be started. */
export function isInstalled(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

const hasTime = spawnSync('/usr/bin/time', ['-f', '%M', 'true']).status === 0;

/** Runs a line of shell; throws where it ends with a status that is not expected. Seconds, and MiB of its largest process. */
export function measure(line, { cwd, env, statuses = [0] }) {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-time-'));
  const out = join(directory, 'time');
  const argv = hasTime ? ['/usr/bin/time', '-q', '-f', '%M', '-o', out, 'sh', '-c', line] : ['sh', '-c', line];
  const start = process.hrtime.bigint();
  const { status, stderr } = spawnSync(argv[0], argv.slice(1), { cwd, env, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 1 << 26 });
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const memory = hasTime ? Number(readFileSync(out, 'utf8').trim().split('\n').at(-1)) / 1024 : null;
  rmSync(directory, { recursive: true });
  if (!statuses.includes(status)) throw new Error(`'${line}' ended with ${status}: ${stderr.toString().slice(-2000)}`);
  return { seconds, memory };
}

/** Bytes of all files below a directory. */
export function bytesBelow(directory) {
  let bytes = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true }))
    if (entry.isFile()) bytes += statSync(join(entry.parentPath ?? entry.path, entry.name)).size;
  return bytes;
}

/** The middle of some figures. */
export function median(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
