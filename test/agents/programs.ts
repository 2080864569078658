import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import programs from './programs.json' with { type: 'json' };

/** Where real programs are installed and their homes are made; it is kept between runs. */
export function agentsDirectory(): string {
  const { PERDURE_AGENTS_DIR: own, XDG_CACHE_HOME: cache } = process.env;
  return own ?? join(cache ?? join(homedir(), '.cache'), 'perdure-agents');
}

/**
 * The path of a program of `programs.json`, which is installed from the npm registry where it is not there yet. Scripts run only
 * for the packages that are named there.
 */
export function installed(name: keyof typeof programs): string {
  const { packages, run, scripts } = programs[name];
  const place = join(agentsDirectory(), packages.join('+').replaceAll('/', '-'));
  if (!existsSync(join(place, run))) install(place, { packages, scripts });
  return join(place, run);
}

/** Installs beside the place and then renames, so that a run that is cut, or another one at the same time, leaves no half of it. */
function install(
  place: string,
  { packages, scripts }: { readonly packages: readonly string[]; readonly scripts: readonly string[] },
): void {
  mkdirSync(agentsDirectory(), { recursive: true });
  const made = mkdtempSync(join(agentsDirectory(), 'new-'));
  try {
    const allowed = Object.fromEntries(scripts.map((one) => [one, true]));
    writeFileSync(join(made, 'package.json'), JSON.stringify({ private: true, allowScripts: allowed }));
    const flags = ['--no-audit', '--no-fund', '--loglevel=error', ...(scripts.length === 0 ? ['--ignore-scripts'] : [])];
    execFileSync('npm', ['install', ...flags, ...packages], { cwd: made, stdio: ['ignore', 'ignore', 'inherit'], timeout: 600_000 });
    if (!existsSync(place)) renameSync(made, place);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
