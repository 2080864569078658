import type { FileId, Files } from '../core/files.ts';

/** Where an agent root lies: its real path and what identifies the directory beyond the path. */
export interface Place extends FileId {
  readonly path: string;
}

/** Machine, account and key file by which a host knows that it is itself. */
export interface HomeId {
  readonly machine: string;
  readonly uid: number;
  /** Inode and birth time of `host.key`: a home that was copied or restored has neither. */
  readonly ino: string;
  readonly birth: string;
}

/** Looks a directory up; null where it does not exist. `path` must be real. */
export async function placeOf(files: Files, path: string): Promise<Place | null> {
  const id = await files.identify(path);
  return id === null ? null : { path, ...id };
}

/**
 * Tells whether two places are one directory. Birth time and inode say so; the device number only where the file system
 * has no birth time, since btrfs, overlay and network file systems give another one after each mount.
 */
export function samePlace(a: FileId, b: FileId): boolean {
  if (a.ino !== b.ino || a.birth !== b.birth) return false;
  return a.birth !== '0' || a.dev === b.dev;
}

/** Tells whether a host is the one that it remembers. */
export function compareHome(noted: HomeId, actual: HomeId): 'same' | 'cloned' | 'restored' {
  if (noted.machine !== actual.machine || noted.uid !== actual.uid) return 'cloned';
  return noted.ino === actual.ino && noted.birth === actual.birth ? 'same' : 'restored';
}
