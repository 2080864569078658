import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** A control group of our own, into which a command and all its descendants go. */
export interface Scope {
  /** File that a process writes its number to in order to enter. */
  readonly entry: string;
  members(): readonly number[];
  /** Kills every member at once. */
  kill(): void;
  /** Removes the group; it must be empty. */
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
    const members = (): readonly number[] =>
      readFileSync(`${path}/cgroup.procs`, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map(Number);
    return {
      entry: `${path}/cgroup.procs`,
      members,
      kill: () => {
        writeFileSync(`${path}/cgroup.kill`, '1');
      },
      remove: () => {
        rmdirSync(path);
      },
    };
  } catch {
    return null;
  }
}
