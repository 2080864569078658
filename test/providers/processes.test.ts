import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, linkSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { createProcessTable } from '../../src/providers/processes.ts';
import { adopted } from '../support/agent.ts';
import { has } from '../support/tools.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

/** A process that has a file open for writing until the test ends. */
function holding(path: string | Buffer, [program = '', ...args]: readonly string[] = ['sleep', '60']): ChildProcess {
  const fd = openSync(path, 'r+');
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore', fd] });
  closeSync(fd);
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  return child;
}

/** Mounts of its own need a right that not every machine gives. */
const canMount = spawnSync('unshare', ['-m', 'true']).status === 0;

describe('who writes', () => {
  test('is found by the names below a directory, whatever name a file was opened by', () => {
    const directory = temporary();
    const root = join(directory, 'root');
    mkdirSync(join(root, 'deep/er'), { recursive: true });
    writeFileSync(join(root, 'deep/er/file'), 'x');
    linkSync(join(root, 'deep/er/file'), join(directory, 'another name'));
    writeFileSync(join(directory, 'alone'), 'x');
    const child = holding(join(directory, 'another name'));
    holding(join(directory, 'alone'));
    const { writers } = createProcessTable().writers([root]);
    expect(writers).toMatchObject([{ pid: child.pid, path: join(root, 'deep/er/file') }]);
    expect(createProcessTable().writers([join(directory, 'root/deep')]).writers).toMatchObject([{ pid: child.pid }]);
  });

  test.runIf(canMount)('is found from outside of the mounts that it sees', async () => {
    const directory = temporary();
    const [root, inner] = [join(directory, 'root'), join(directory, 'data')];
    mkdirSync(root);
    mkdirSync(inner);
    writeFileSync(join(root, 'state.db'), 'x');
    const script = `mount --bind ${root} ${inner} && exec 3<>${inner}/state.db && echo ready && exec sleep 60`;
    const child = spawn('unshare', ['-m', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    await once(child.stdout, 'data');
    expect(createProcessTable().writers([root]).writers).toMatchObject([{ pid: child.pid, path: join(root, 'state.db') }]);
  });

  test.runIf(has('sqlite3'))('of a database whose name is no text is seen, and what cannot be copied is told', async () => {
    const { a, home } = await adopted(temporary(), nativeAgent);
    const path = Buffer.concat([Buffer.from(`${home}/private/état/`), Buffer.from([0x62, 0xff, 0xe9])]);
    mkdirSync(join(home, 'private/état'));
    execFileSync('sqlite3', [join(home, 'made'), 'CREATE TABLE t(x)']);
    execFileSync('sh', ['-c', `mv made private/état/$(printf 'b\\377\\351')`], { cwd: home });
    const child = holding(path);
    const live = await checkpoint(a);
    expect(live.facts.findings).toMatchObject([{ code: 'DATABASE_LOCKED', subject: 'private/état/b\\xff\\xe9' }]);
    child.kill();
    await once(child, 'exit');
    expect((await checkpoint(a)).complete).toBe(true);
  });
});
