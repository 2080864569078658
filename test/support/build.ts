import { execFileSync } from 'node:child_process';

/** Builds the program once, for the tests that run it. */
export default function setup(): void {
  execFileSync(process.execPath, ['scripts/build.js'], { stdio: 'inherit' });
}
