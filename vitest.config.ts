import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    include: ['test/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    // By itself it leaves one core alone, which on two cores means one file after the other.
    maxWorkers: Math.max(2, availableParallelism()),
    globalSetup: ['test/support/build.ts'],
  },
});
