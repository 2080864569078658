// Minimum of many runs: what a light command costs over bare node. Prints figures; asserts nothing.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const runs = Number(process.argv[2] ?? 40);
const program = fileURLToPath(new URL('../bin/run.js', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'perdure-bench-'));
const root = join(directory, 'ada');
mkdirSync(join(root, 'private'), { recursive: true });
mkdirSync(join(root, 'body'));
writeFileSync(join(root, 'private/self.json'), '{"version":1}\n');
const env = { ...process.env, PERDURE_HOST_DIR: join(directory, 'host') };
const agent = (...argv) => spawnSync(process.execPath, [program, ...argv], { cwd: root, env });
for (const argv of [['init', '--no-recovery'], ['checkpoint']]) if (agent(...argv).status !== 0) throw new Error(`${argv[0]} failed`);

const cases = {
  'bare node': [process.execPath, ['-e', '0']],
  'agent --version': [process.execPath, [program, '--version']],
  'agent log': [process.execPath, [program, 'log']],
  'agent status': [process.execPath, [program, 'status']],
  'agent profile explain': [process.execPath, [program, 'profile', 'explain', 'private/self.json']],
  'agent guard -- true': [process.execPath, [program, 'guard', '--', 'true']],
};
const least = Object.fromEntries(Object.keys(cases).map((name) => [name, Infinity]));
for (let run = 0; run < runs; run++)
  for (const [name, [file, argv]] of Object.entries(cases)) {
    const start = process.hrtime.bigint();
    const { status } = spawnSync(file, argv, { cwd: root, env });
    if (status !== 0) throw new Error(`${name} ended with ${status}`);
    least[name] = Math.min(least[name], Number(process.hrtime.bigint() - start) / 1e6);
  }
rmSync(directory, { recursive: true, force: true });
console.log(`minimum of ${runs} runs, milliseconds (over bare node)`);
for (const [name, ms] of Object.entries(least))
  console.log(`${name.padEnd(24)} ${ms.toFixed(1).padStart(7)}  ${(ms - least['bare node']).toFixed(1).padStart(7)}`);
