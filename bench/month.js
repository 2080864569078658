// Bundles bench/month.ts and runs it: see there.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { build } from 'esbuild';
import '../scripts/generate.js';

const directory = mkdtempSync(join(import.meta.dirname, '../node_modules/.month-'));
try {
  const outfile = join(directory, 'month.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'month.ts')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    packages: 'external',
    logLevel: 'error',
  });
  process.exitCode = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { stdio: 'inherit' }).status ?? 1;
} finally {
  rmSync(directory, { recursive: true });
}
