import { lstatSync, readdirSync } from 'node:fs';
import type { Clock } from '../core/clock.ts';
import { ROOT_PATH, childPath, fsPath, nameFromBytes, showName, type RelPath } from '../core/name.ts';
import type { Profile } from '../profile/profile.ts';
import type { ProcessTable, Writer } from '../providers/processes.ts';

/** Who or what still writes to a tree. */
export interface Activity {
  readonly writers: readonly Writer[];
  /** Paths that changed between two walks. */
  readonly changing: readonly string[];
  /** Processes of others that might write and could not be looked at. */
  readonly unseen: number;
}

interface Watched {
  readonly root: string;
  readonly profile: Profile;
  readonly processes: ProcessTable;
  readonly clock: Clock;
}

const PAUSE = 1000;
const NAMED = 20;

/** Writers of files that travel: a log that the profile calls volatile may stay open. */
export function writersOf({
  root,
  profile,
  processes,
}: Pick<Watched, 'root' | 'profile' | 'processes'>): Pick<Activity, 'writers' | 'unseen'> {
  const { writers, unseen } = processes.writers([root]);
  const matters = (path: string): boolean => !['volatile', 'host'].includes(profile.classify(path.slice(root.length + 1)).class);
  return { writers: writers.filter((one) => matters(one.path)), unseen };
}

/**
 * Looks for whoever writes: open files, and the difference of two walks a second apart, which finds those that open,
 * append and close. Reads only.
 */
export async function findActivity(watched: Watched): Promise<Activity> {
  const { root, profile, clock } = watched;
  const started = BigInt(clock.now()) * 1_000_000n;
  // By the file system's own clock, which may be another machine's.
  let newest = 0n;
  visit(root, profile, (_, ctime) => {
    if (ctime > newest) newest = ctime;
  });
  await clock.sleep(PAUSE);
  const changing: string[] = [];
  visit(root, profile, (path, ctime) => {
    if (ctime > newest || ctime > started) changing.push(showName(path === '' ? '.' : path));
  });
  return { ...writersOf(watched), changing: changing.slice(0, NAMED) };
}

/** Calls with the time of the last status change of all that travels. */
function visit(root: string, profile: Profile, seen: (path: RelPath, ctime: bigint) => void): void {
  const directory = (path: RelPath): void => {
    if (path === '') seen(path, lstatSync(root, { bigint: true }).ctimeNs);
    let names: readonly string[];
    try {
      names = readdirSync(fsPath(root, path), { encoding: 'buffer' }).map(nameFromBytes);
    } catch {
      return;
    }
    for (const name of names) {
      const child = childPath(path, name);
      if (child === '.perdure' || ['volatile', 'host'].includes(profile.classify(child).class)) continue;
      const stat = lstatSync(fsPath(root, child), { bigint: true, throwIfNoEntry: false });
      if (stat === undefined) continue;
      seen(child, stat.ctimeNs);
      if (stat.isDirectory()) directory(child);
    }
  };
  directory(ROOT_PATH);
}
