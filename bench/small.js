// What small commands cost: over bare node, and with a long ledger over a short one. Minimum of many runs, in turn.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../bin/run.js', import.meta.url));
const bundled = fileURLToPath(new URL('./bundled.js', import.meta.url));
/** Records of the long ledger, and of the short one. */
const LEDGERS = [10, 10_000];

function run(file, argv, options) {
  const { status, stderr } = spawnSync(file, argv, options);
  if (status !== 0) throw new Error(`${argv.join(' ')} ended with ${status}: ${stderr}`);
}

/** Milliseconds of each command, at least. */
function leastOf(cases, runs) {
  const least = Object.fromEntries(Object.keys(cases).map((name) => [name, Infinity]));
  for (let round = 0; round < runs; round++)
    for (const [name, { argv, env }] of Object.entries(cases)) {
      const start = process.hrtime.bigint();
      run(process.execPath, argv, { env });
      least[name] = Math.min(least[name], Number(process.hrtime.bigint() - start) / 1e6);
    }
  return least;
}

/** Rows of small commands: what each takes over bare node, in milliseconds, and what a long ledger adds. */
export function smallRows(directory, { runs }) {
  const root = join(directory, 'small', 'ada');
  mkdirSync(join(root, 'private'), { recursive: true });
  writeFileSync(join(root, 'private/self.json'), '{"version":1}\n');
  const env = { ...process.env, PERDURE_HOST_DIR: join(directory, 'small', 'host') };
  for (const argv of [['init', '--no-recovery'], ['checkpoint']]) run(process.execPath, [program, '-C', root, ...argv], { env });
  const ours = (...argv) => ({ argv: [program, '-C', root, ...argv], env });
  const least = leastOf(
    {
      'bare node': { argv: ['-e', '0'], env },
      log: ours('log'),
      status: ours('status'),
      'profile explain': ours('profile', 'explain', 'private/self.json'),
      'guard -- true': ours('guard', '--', 'true'),
    },
    runs,
  );
  const rows = Object.entries(least)
    .filter(([name]) => name !== 'bare node')
    .map(([name, ms]) => ({ name, ms, over: ms - least['bare node'], target: name.startsWith('guard') ? 100 : 60 }));
  run(process.execPath, [bundled, 'ledger', join(directory, 'ledgers'), ...LEDGERS.map(String)], {});
  const status = (count) => ({
    argv: [program, '-C', join(directory, 'ledgers', `agent-${count}`), 'status'],
    env: { ...process.env, PERDURE_HOST_DIR: join(directory, 'ledgers', `host-${count}`) },
  });
  const [short, long] = Object.values(leastOf(Object.fromEntries(LEDGERS.map((count) => [`${count} records`, status(count)])), runs));
  return { rows, ledger: { short, long, ratio: long / short, target: 1.2 } };
}
