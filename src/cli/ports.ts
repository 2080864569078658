import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { availableParallelism, homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ports } from '../actions/session/ports.ts';
import { createFiles } from '../core/files.ts';
import { fileSystemOf } from '../providers/file-system.ts';
import { readMachine } from '../providers/machine.ts';
import { createProcessTable } from '../providers/processes.ts';
import { findSqlite } from '../providers/sqlite/sqlite.ts';
import { createThreads } from '../providers/threads.ts';
import { progressLine } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** More threads than this make each other wait for the disk, and take memory each. */
const MOST_THREADS = 4;

/** Builds the real ports. `exactRoot` is that of PERDURE_ROOT, where no `-C` was given; `worker` is the script of a thread. */
export function realPorts(
  terminal: Terminal,
  { exactRoot, worker }: { readonly exactRoot: string | undefined; readonly worker: URL },
): Ports {
  const { env, cwd } = terminal;
  return {
    files: createFiles(nodeFs),
    clock: {
      now: () => Date.now(),
      sleep: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
    },
    threads: createThreads(worker, Math.min(availableParallelism(), MOST_THREADS)),
    processes: createProcessTable(),
    machine: readMachine(),
    random: randomBytes,
    hostDirectory: resolve(cwd, env['PERDURE_HOST_DIR'] ?? join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'perdure')),
    start: { directory: resolve(cwd, exactRoot ?? '.'), exact: exactRoot !== undefined },
    cwd: terminal.cwd,
    profileDirectory: resolve(cwd, env['XDG_CONFIG_HOME'] ?? join(homedir(), '.config'), 'perdure', 'profiles'),
    environment: env,
    home: resolve(homedir()),
    progress: progressLine(terminal),
    fileSystem: fileSystemOf,
    sqlite: findSqlite,
  };
}
