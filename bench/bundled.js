// Bundles a benchmark that uses the sources themselves and runs it: node bench/bundled.js month|ledger ARGUMENTS…
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { build } from 'esbuild';
import '../scripts/generate.js';

const [name, ...args] = process.argv.slice(2);
const directory = mkdtempSync(join(import.meta.dirname, '../node_modules/.bench-'));
try {
  const outfile = join(directory, `${name}.mjs`);
  await build({
    entryPoints: [join(import.meta.dirname, `${name}.ts`)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    packages: 'external',
    logLevel: 'error',
  });
  process.exitCode = spawnSync(process.execPath, [outfile, ...args], { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(directory, { recursive: true });
}
