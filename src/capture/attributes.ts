import type { BigIntStats } from 'node:fs';
import type { FileEntry } from '../manifest/entry.ts';

/** Microseconds since 1970, rounded down, as a decimal. */
export function microseconds({ mtimeNs }: BigIntStats): string {
  return String(mtimeNs / 1000n - (mtimeNs % 1000n < 0n ? 1n : 0n));
}

/** Permission bits. */
export function modeOf(stat: BigIntStats): number {
  return Number(stat.mode & 0o7777n);
}

/** What an entry says of a file beside its content. */
export function attributesOf(name: string, stat: BigIntStats): Pick<FileEntry, 'name' | 'mode' | 'mtime' | 'uid' | 'gid'> {
  return { name, mode: modeOf(stat), mtime: microseconds(stat), uid: Number(stat.uid), gid: Number(stat.gid) };
}

/** Flags for an entry, which has none rather than an empty list. */
export function flagsOf(flags: readonly string[]): { readonly flags?: readonly string[] } {
  return flags.length === 0 ? {} : { flags };
}
