// Runs the tests and closes with one line that counts them.
import './install.js';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const directory = mkdtempSync(join(tmpdir(), 'perdure-results-'));
const results = join(directory, 'results.json');
const { status } = spawnSync(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${results}`,
    ...process.argv.slice(2),
  ],
  {
    cwd: new URL('..', import.meta.url),
    stdio: 'inherit',
  },
);
let line = '0 passed, 1 failed';
try {
  const { numPassedTests, numFailedTests, numPendingTests, numFailedTestSuites } = JSON.parse(readFileSync(results, 'utf8'));
  const failed = numFailedTests + (numFailedTests === 0 && status !== 0 ? Math.max(1, numFailedTestSuites) : 0);
  line = `${numPassedTests} passed, ${failed} failed${numPendingTests > 0 ? `, ${numPendingTests} skipped` : ''}`;
} finally {
  rmSync(directory, { recursive: true, force: true });
  console.log(line);
}
process.exit(status ?? 1);
