import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporary } from '../support/tree.ts';

test('the published package installs offline, has nothing to install, and runs under both names', () => {
  const directory = temporary();
  const npm = (argv: readonly string[], cwd: string): string =>
    execFileSync('npm', [...argv], { cwd, env: { ...process.env, npm_config_cache: join(directory, 'empty-cache') } }).toString();
  const [{ filename, files }] = JSON.parse(npm(['pack', '--json', '--ignore-scripts', '--pack-destination', directory], process.cwd())) as [
    { filename: string; files: { path: string }[] },
  ];
  const paths = files.map((file) => file.path);
  expect(paths).toContain('bin/run.js');
  expect(paths.filter((path) => path.startsWith('src/') || path.startsWith('test/'))).toEqual([]);
  const prefix = join(directory, 'prefix');
  mkdirSync(prefix);
  npm(['install', '--global', '--offline', '--prefix', prefix, join(directory, filename)], directory);
  const pages = readdirSync('dist/man/man1').sort();
  expect((JSON.parse(readFileSync('package.json', 'utf8')) as { man: string[] }).man).toEqual(
    pages.map((page) => `./dist/man/man1/${page}`),
  );
  expect(existsSync(join(prefix, 'share/man/man1/perdure.1'))).toBe(true);
  for (const name of ['agent', 'perdure']) {
    const done = spawnSync(join(prefix, 'bin', name), ['--version'], { cwd: directory });
    expect(done.stdout.toString()).toBe(`perdure ${(JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version}\n`);
  }
  const agent = (argv: readonly string[]): number | null =>
    spawnSync(join(prefix, 'bin', 'agent'), [...argv], {
      cwd: directory,
      env: { ...process.env, PERDURE_HOST_DIR: join(directory, 'host') },
    }).status;
  expect([agent(['init', 'ada', '--no-recovery']), agent(['-C', 'ada', 'checkpoint']), agent(['-C', 'ada', 'verify'])]).toEqual([0, 0, 0]);
});
