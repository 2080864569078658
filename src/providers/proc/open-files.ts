import { lstatSync, readdirSync, statSync, type BigIntStats } from 'node:fs';
import { fsPath, nameFromBytes } from '../../core/name.ts';
import { link, readText, statOf } from './read.ts';

/** Files that a process has open for writing: those below some directories, and by device and inode those that might have a name there. */
export interface Opened {
  readonly paths: readonly string[];
  readonly others: readonly string[];
}

/** What a process has open or mapped for writing; null where this account may not look. */
export function openForWriting(
  pid: number,
  { directories, devices }: { readonly directories: readonly string[]; readonly devices: ReadonlySet<bigint> },
): Opened | null {
  const base = `/proc/${String(pid)}`;
  const inside = (path: string): boolean =>
    directories.some((directory) => path.startsWith(`${directory}/`) && !path.startsWith(`${directory}/.perdure/`));
  const paths = new Set<string>();
  const others = new Set<string>();
  let names: readonly string[];
  try {
    names = readdirSync(`${base}/fd`);
  } catch {
    return statOf(pid) === null ? { paths: [], others: [] } : null;
  }
  for (const fd of names) {
    const path = link(`${base}/fd/${fd}`);
    const isInside = inside(path);
    if (!isInside && (!path.startsWith('/') || NO_FILES.test(path))) continue;
    const flags = Number.parseInt(/^flags:\s*([0-7]+)/m.exec(readText(`${base}/fdinfo/${fd}`))?.[1] ?? '0', 8);
    if ((flags & 3) === 0) continue;
    if (isInside) paths.add(path);
    else {
      const other = otherName(`${base}/fd/${fd}`, path, devices);
      if (other !== null) others.add(other);
    }
  }
  for (const line of readText(`${base}/maps`).split('\n')) {
    const shared = /^\S+ .w.s \S+ \S+ \S+\s+(\/.*)$/.exec(line)?.[1];
    if (shared !== undefined && inside(shared)) paths.add(shared);
  }
  return { paths: [...paths], others: [...others] };
}

const NO_FILES = /^\/(?:dev|proc|sys)\//;

/**
 * Device and inode of an open file that may have a name of its own below the directories: it has several, or the name that its process
 * sees is not its name here, as in a container.
 */
function otherName(fd: string, path: string, devices: ReadonlySet<bigint>): string | null {
  try {
    const stat = statSync(fd, { bigint: true });
    if (!stat.isFile() || !devices.has(stat.dev)) return null;
    const here = statSync(path, { bigint: true, throwIfNoEntry: false });
    const isHere = here?.dev === stat.dev && here.ino === stat.ino;
    return stat.nlink > 1n || (stat.nlink > 0n && !isHere) ? fileId(stat) : null;
  } catch {
    return null;
  }
}

function fileId({ dev, ino }: BigIntStats): string {
  return `${String(dev)}:${String(ino)}`;
}

/** The devices of directories. */
export function devicesOf(directories: readonly string[]): ReadonlySet<bigint> {
  return new Set(directories.flatMap((one) => statSync(one, { bigint: true, throwIfNoEntry: false })?.dev ?? []));
}

/** The names of files below directories, by device and inode. */
export function pathsOf(wanted: ReadonlySet<string>, directories: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const visit = (root: string, path: string): void => {
    for (const name of names(fsPath(root, path))) {
      const child = path === '' ? name : `${path}/${name}`;
      if (child === '.perdure') continue;
      const stat = lstatSync(fsPath(root, child), { bigint: true, throwIfNoEntry: false });
      if (stat?.isDirectory() === true) visit(root, child);
      else if (stat !== undefined && wanted.has(fileId(stat)))
        found.set(fileId(stat), [...(found.get(fileId(stat)) ?? []), `${root}/${child}`]);
    }
  };
  if (wanted.size > 0) for (const directory of directories) visit(directory, '');
  return found;
}

function names(path: string | Buffer): readonly string[] {
  try {
    return readdirSync(path, { encoding: 'buffer' }).map(nameFromBytes);
  } catch {
    return [];
  }
}
