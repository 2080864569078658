import { randomBytes } from 'node:crypto';
import * as nodeFs from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Ports } from '../actions/ports.ts';
import { createFiles } from '../core/files.ts';
import { readMachine } from '../providers/machine.ts';
import { createProcessTable } from '../providers/processes.ts';
import { progressLine } from './progress.ts';
import type { Terminal } from './terminal.ts';

/** Builds the real ports. `directory` is that of `-C`. */
export function realPorts(terminal: Terminal, directory: string | undefined): Ports {
  const { env, cwd } = terminal;
  const exactRoot = directory === undefined ? env['PERDURE_ROOT'] : undefined;
  return {
    files: createFiles(nodeFs),
    clock: {
      now: () => Date.now(),
      sleep: (ms, signal) => sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
    },
    processes: createProcessTable(),
    machine: readMachine(),
    random: randomBytes,
    hostDirectory: resolve(cwd, env['PERDURE_HOST_DIR'] ?? join(env['XDG_STATE_HOME'] ?? join(homedir(), '.local', 'state'), 'perdure')),
    start: { directory: resolve(cwd, directory ?? exactRoot ?? '.'), exact: exactRoot !== undefined },
    progress: progressLine(terminal),
  };
}
