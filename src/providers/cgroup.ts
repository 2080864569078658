import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** A control group of our own, into which a command and all its descendants go. */
export interface Scope {
  readonly path: string;
  /** File that a process writes its number to in order to enter. */
  readonly entry: string;
  /** Numbers of the processes in it; none where it is gone. */
  members(): readonly number[];
  /** Kills every member at once. */
  kill(): void;
  /** Removes the group, where it is empty. */
  remove(): void;
}

/** Makes a cgroup (version 2) below the one that this process is in; null where there is none or this account may not. */
export function createScope(name: string): Scope | null {
  try {
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    const mount = mounts.find((line) => / - cgroup2 /.test(line))?.split(' ')[4];
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    if (mount === undefined || own === undefined) return null;
    const path = `${mount}${own === '/' ? '' : own}/${name}`;
    mkdirSync(path);
    return openScope(path);
  } catch {
    return null;
  }
}

/** The cgroup at a path, which may be gone. */
export function openScope(path: string): Scope {
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch {
      // It is gone, or still has members: the caller looks at the members.
    }
  };
  return {
    path,
    entry: `${path}/cgroup.procs`,
    members() {
      let text = '';
      attempt(() => {
        text = readFileSync(`${path}/cgroup.procs`, 'utf8');
      });
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map(Number);
    },
    kill: () => {
      attempt(() => {
        writeFileSync(`${path}/cgroup.kill`, '1');
      });
    },
    remove: () => {
      attempt(() => {
        rmdirSync(path);
      });
    },
  };
}
