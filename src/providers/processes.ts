import { statSync } from 'node:fs';
import { devicesOf, openForWriting, pathsOf, type Opened } from './proc/open-files.ts';
import { entries, readText, statOf } from './proc/read.ts';

/** A process, told apart from a later one with the same number. */
export interface ProcessId {
  readonly pid: number;
  readonly start: string;
  readonly boot: string;
}

/** A process that has a file of an agent open for writing. */
export interface Writer {
  readonly pid: number;
  readonly program: string;
  readonly path: string;
}

/** The processes of this machine, as far as this account may look. */
export interface ProcessTable {
  readonly self: ProcessId;
  isAlive(process: ProcessId): boolean;
  /** The identity of a running process, or null. */
  identify(pid: number): ProcessId | null;
  /** Who has files below the directories open for writing, and how many processes could not be looked at though they might. */
  writers(directories: readonly string[]): { readonly writers: readonly Writer[]; readonly unseen: number };
  /** Processes that descend from a process (null: from none) by their parent chain, or whose environment has `mark`. */
  family(ancestor: ProcessId | null, mark: string): readonly number[];
  /** Sends a signal; a process that is gone is no error. */
  signal(pid: number, signal: NodeJS.Signals): void;
}

const ZOMBIE = /^[ZX]$/;

/** Reads /proc. Where there is none (macOS), only liveness is known and every other process counts as not looked at. */
export function createProcessTable(): ProcessTable {
  const boot = readText('/proc/sys/kernel/random/boot_id').trim();
  const identify = (pid: number): ProcessId | null => {
    const stat = statOf(pid);
    if (stat !== null) return ZOMBIE.test(stat.state) ? null : { pid, start: stat.start, boot };
    return boot === '' && answers(pid) ? { pid, start: '0', boot } : null;
  };
  return {
    self: identify(process.pid) ?? { pid: process.pid, start: '0', boot },
    identify,
    isAlive(one) {
      const now = identify(one.pid);
      return now !== null && one.boot === now.boot && now.start === one.start;
    },
    writers(directories) {
      const found: { readonly pid: number; readonly open: Opened }[] = [];
      let unseen = 0;
      const devices = devicesOf(directories);
      for (const pid of pids()) {
        if (pid === process.pid) continue;
        const open = openForWriting(pid, { directories, devices });
        if (open === null) unseen += mayReach(pid, directories) ? 1 : 0;
        else if (open.paths.length > 0 || open.others.length > 0) found.push({ pid, open });
      }
      const otherNames = pathsOf(new Set(found.flatMap(({ open }) => open.others)), directories);
      const writers = found.flatMap(({ pid, open }) => {
        const program = readText(`/proc/${String(pid)}/comm`).trim();
        const paths = new Set([...open.paths, ...open.others.flatMap((one) => otherNames.get(one) ?? [])]);
        return [...paths].map((path) => ({ pid, program, path }));
      });
      return { writers, unseen: boot === '' ? 1 : unseen };
    },
    family(ancestor, mark) {
      const pid = ancestor?.pid ?? -1;
      const parents = new Map<number, number>();
      const all = pids();
      for (const one of all) {
        const stat = statOf(one);
        if (stat !== null && !ZOMBIE.test(stat.state)) parents.set(one, stat.parent);
      }
      const inLine = (one: number): boolean => {
        for (let at = parents.get(one); at !== undefined && at > 1; at = parents.get(at)) if (at === pid) return true;
        return false;
      };
      return [...parents.keys()].filter(
        (one) => one !== process.pid && one !== pid && (inLine(one) || readText(`/proc/${String(one)}/environ`).includes(mark)),
      );
    },
    signal(pid, signal) {
      try {
        process.kill(pid, signal);
      } catch {
        // It is gone, which is what a signal is for.
      }
    },
  };
}

function pids(): readonly number[] {
  return entries('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number);
}

/**
 * Whether another account's process might write below the directories, by the mode bits of the directories. The
 * superuser's processes are trusted as the machine itself is.
 */
function mayReach(pid: number, directories: readonly string[]): boolean {
  try {
    const owner = statSync(`/proc/${String(pid)}`);
    if (owner.uid === 0) return false;
    return directories.some((directory) => {
      const stat = statSync(directory);
      return owner.uid === stat.uid || (stat.mode & 0o003) === 0o003 || ((stat.mode & 0o030) === 0o030 && owner.gid === stat.gid);
    });
  } catch {
    return false;
  }
}

function answers(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
