import { readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What is known of the file system that a path lies on. */
export interface FileSystemKind {
  /** As the system calls it, such as `ext4`, `vfat`, `overlay`, `nfs4`. */
  readonly type: string;
  /** Largest file in bytes, where it is small enough to matter. */
  readonly fileLimit: number | null;
  /** What a person who keeps an agent there has to know, or null. */
  readonly caveat: 'overlay' | 'network' | 'memory' | null;
}

const FAT: readonly string[] = ['vfat', 'msdos', 'fat', 'fuse.fusefat'];
const NETWORK = /^(nfs|nfs4|cifs|smb3|smbfs|9p|afs|ceph|glusterfs|fuse\.(sshfs|rclone|s3fs|glusterfs))$/;
const FAT_LIMIT = 4 * 1024 ** 3 - 1;

/** Looks up the file system of a path, or of the nearest directory above it that exists; null where the system does not tell. */
export async function fileSystemOf(path: string): Promise<FileSystemKind | null> {
  let mounts: string;
  try {
    mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return null;
  }
  let real: string | null = null;
  for (let at = path; real === null && at !== dirname(at); at = dirname(at)) real = await realpath(at).catch(() => null);
  const type = mountedAt(mounts, real ?? '/');
  if (type === null) return null;
  return {
    type,
    fileLimit: FAT.includes(type) ? FAT_LIMIT : null,
    caveat: /^(overlay|aufs|fuse\.overlay.*)$/.test(type) ? 'overlay' : NETWORK.test(type) ? 'network' : type === 'tmpfs' ? 'memory' : null,
  };
}

/** The type of the mount that a path lies on: the last one of the longest mount point above it. @see proc(5), mountinfo */
function mountedAt(mounts: string, path: string): string | null {
  let found: { readonly point: string; readonly type: string } | null = null;
  for (const line of mounts.split('\n')) {
    const [left, right] = line.split(' - ');
    const point = left?.split(' ')[4]?.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
    const type = right?.split(' ')[0];
    if (point === undefined || type === undefined) continue;
    const holds = point === '/' || path === point || path.startsWith(`${point}/`);
    if (holds && (found === null || point.length >= found.point.length)) found = { point, type };
  }
  return found?.type ?? null;
}
