#!/usr/bin/env node
import module from 'node:module';
module.enableCompileCache?.();
const { run } = await import('../dist/program.js');
process.exitCode = await run(new URL('../dist/worker.js', import.meta.url));
