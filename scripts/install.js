// Installs the development packages where they are not there yet, so that one command works on a fresh clone.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const here = new URL('..', import.meta.url);
const lock = JSON.parse(readFileSync(new URL('package-lock.json', here), 'utf8'));
const there = (name) => {
  const path = new URL(`node_modules/${name}/package.json`, here);
  return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).version === lock.packages[`node_modules/${name}`].version;
};
if (!Object.keys(lock.packages[''].devDependencies).every(there)) {
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: here, stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}
