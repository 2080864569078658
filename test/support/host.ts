import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import type { Ports } from '../../src/actions/session/ports.ts';
import type { Clock } from '../../src/core/clock.ts';
import { createFiles, type BeforeChange } from '../../src/core/files.ts';
import { ownThread } from '../../src/core/threads/job.ts';
import { fileSystemOf } from '../../src/providers/file-system.ts';
import { createProcessTable } from '../../src/providers/processes.ts';
import { findSqlite } from '../../src/providers/sqlite/sqlite.ts';

/** A clock that never waits: a sleep only moves it on. */
function testClock(): Clock {
  let offset = 0;
  return {
    now: () => Date.now() + offset,
    sleep: (ms) => {
      offset += ms;
      return Promise.resolve();
    },
  };
}

/** The ports of a host that lives below a temporary directory. */
export function testHost(
  directory: string,
  name: string,
  options: { readonly root?: string; readonly before?: BeforeChange; readonly uid?: number } = {},
): Ports {
  return {
    files: createFiles(nodeFs, options.before),
    clock: testClock(),
    threads: ownThread,
    processes: createProcessTable(),
    machine: { id: 'machine', uid: options.uid ?? 1000, label: `user@${name}`, platform: 'linux', node: '20.19.0' },
    random: randomBytes,
    hostDirectory: join(directory, `host-${name}`),
    start: { directory: options.root ?? directory, exact: false },
    cwd: options.root ?? directory,
    profileDirectory: join(directory, `config-${name}`, 'perdure', 'profiles'),
    environment: process.env,
    home: join(directory, name),
    progress: () => undefined,
    fileSystem: fileSystemOf,
    sqlite: findSqlite,
  };
}

/** The same host, looking at another directory. */
export function at(ports: Ports, directory: string): Ports {
  return { ...ports, cwd: directory, start: { directory, exact: false } };
}
