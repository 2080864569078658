import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { pool: 'forks', include: ['test/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000, globalSetup: [] },
});
