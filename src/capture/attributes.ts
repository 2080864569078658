import type { BigIntStats } from 'node:fs';
import type { RelPath } from '../core/name.ts';
import { microsecondsOf, type FileEntry } from '../manifest/entry.ts';

/** Permission bits. */
export function modeOf(stat: BigIntStats): number {
  return Number(stat.mode & 0o7777n);
}

/** What an entry says of a file beside its content. */
export function attributesOf(name: string, stat: BigIntStats): Pick<FileEntry, 'name' | 'mode' | 'mtime' | 'uid' | 'gid'> {
  return { name, mode: modeOf(stat), mtime: microsecondsOf(stat.mtimeNs), uid: Number(stat.uid), gid: Number(stat.gid) };
}

/** Flags for an entry, which has none rather than an empty list. */
export function flagsOf(flags: readonly string[]): { readonly flags?: readonly string[] } {
  return flags.length === 0 ? {} : { flags };
}

/** The last name of a path. */
export function nameOf(path: RelPath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
