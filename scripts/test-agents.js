// Runs the tests with real agent programs, which it installs from the npm registry below $PERDURE_AGENTS_DIR.
process.argv.splice(2, 0, '--config', 'test/agents/vitest.config.ts');
await import('./test.js');
