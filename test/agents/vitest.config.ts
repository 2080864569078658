import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    pool: 'forks',
    include: ['test/agents/*.agent.ts'],
    testTimeout: 300_000,
    hookTimeout: 900_000,
    maxWorkers: 1,
    globalSetup: ['test/support/build.ts'],
  },
});
