import type { RelPath } from '../core/name.ts';

/** What SQLite appends to a database's name for the files that it keeps beside it. */
const SUFFIXES = ['-wal', '-shm', '-journal'] as const;

/** The database to which a name belongs by its ending, or null. Whether there is one has to be looked at. */
export function databaseOf<Path extends string>(path: Path): { readonly path: Path; readonly part: (typeof SUFFIXES)[number] } | null {
  const part = SUFFIXES.find((one) => path.endsWith(one) && path.length > one.length && !path.endsWith(`/${one}`));
  return part === undefined ? null : { path: path.slice(0, -part.length) as Path, part };
}

/** Paths of the files that SQLite may keep beside a database. */
export function sidecarsOf(path: RelPath): readonly RelPath[] {
  return SUFFIXES.map((one) => `${path}${one}` as RelPath);
}
