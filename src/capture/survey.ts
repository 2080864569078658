import { lstatSync, readdirSync, readlinkSync, type BigIntStats } from 'node:fs';
import { resolve, dirname } from 'node:path';
import { ROOT_PATH, childPath, fsPath, nameFromBytes, showName, type RelPath } from '../core/name.ts';
import type { Classification, FileClass, Profile } from '../profile/profile.ts';
import { isLeftOut } from './captured.ts';
import { besideDatabase } from './databases/live.ts';
import { peekHeader } from './lane/pieces.ts';

/** A path of a tree, and what a profile says of it. */
export interface Surveyed extends Pick<Classification, 'class' | 'flags' | 'rule'> {
  readonly path: RelPath;
  readonly stat: BigIntStats;
  readonly isDatabase: boolean;
  /** Whether it is a directory of which nothing is looked at, since all of it is left out; or one that is an agent of its own. */
  readonly isLeft?: true;
  readonly isAgent?: true;
}

/**
 * Goes through every name below a root, or that name `only`, and classifies it; reads only the first bytes of files. Directories that are
 * captured are not given.
 */
export function* surveyed(
  root: string,
  profile: Profile,
  { path = ROOT_PATH, only }: { readonly path?: RelPath; readonly only?: string | undefined } = {},
): Generator<Surveyed> {
  const names = (): readonly string[] => readdirSync(fsPath(root, path), { encoding: 'buffer' }).map(nameFromBytes).sort();
  for (const name of only === undefined ? (safely(names) ?? []) : [only]) {
    const child = childPath(path, name);
    const stat = lstatSync(fsPath(root, child), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) continue;
    const found = { ...profile.classify(child), path: child, stat, isDatabase: false };
    if (name === '.perdure') {
      const isAgent = path !== '' && safely(() => lstatSync(fsPath(root, childPath(child, 'format')))) !== undefined;
      if (isAgent) yield { ...found, path, isAgent };
    } else if (stat.isDirectory()) {
      if (isLeftOut(found.class)) yield { ...found, isLeft: true };
      else yield* surveyed(root, profile, { path: child });
    } else if (!stat.isFile()) yield found;
    else {
      const header = safely(() => peekHeader(fsPath(root, child)));
      const beside = besideDatabase(child, { root, profile });
      if (beside === 'left out') yield { ...found, class: 'volatile', flags: [] };
      else if (beside !== undefined) yield { ...found, ...beside };
      else yield { ...found, ...profile.classify(child, header), isDatabase: header === 'sqlite' };
    }
  }
}

/** What a directory holds, by class, without reading its files. */
export interface Survey {
  readonly classes: ReadonlyMap<FileClass, { readonly files: number; readonly bytes: bigint }>;
  readonly special: readonly string[];
  readonly unclassified: { readonly count: number; readonly first: readonly string[] };
  readonly databases: readonly string[];
  /** Links that lead out of the root: they are stored, what they point to is not. */
  readonly outside: readonly string[];
  /** Directories below that are agents of their own. */
  readonly nested: readonly string[];
  /** Files that hold credentials beside what they are: they travel with the rest. */
  readonly mixed: readonly string[];
}

/** Looks at every name below a root and sums up what it is. */
export function survey(root: string, profile: Profile): Survey {
  const classes = new Map<FileClass, { files: number; bytes: bigint }>();
  const special: string[] = [];
  const first: string[] = [];
  const databases: string[] = [];
  const outside: string[] = [];
  const nested: string[] = [];
  const mixed: string[] = [];
  let count = 0;
  for (const { path, stat, class: kind, flags, isDatabase, isAgent } of surveyed(root, profile)) {
    if (isAgent === true) {
      nested.push(showName(path));
      continue;
    }
    if (!stat.isFile() && !stat.isDirectory() && !stat.isSymbolicLink()) {
      special.push(showName(path));
      continue;
    }
    const sum = classes.get(kind) ?? { files: 0, bytes: 0n };
    classes.set(kind, { files: sum.files + 1, bytes: sum.bytes + (stat.isFile() ? stat.size : 0n) });
    if (stat.isSymbolicLink()) {
      const target = nameFromBytes(readlinkSync(fsPath(root, path), { encoding: 'buffer' }));
      if (!`${resolve(root, dirname(path), target)}/`.startsWith(`${root}/`)) outside.push(`${showName(path)} -> ${showName(target)}`);
    }
    if (!stat.isFile()) continue;
    if (isDatabase && !isLeftOut(kind)) databases.push(showName(path));
    if (kind !== 'secret' && !isLeftOut(kind) && flags.includes('secret-bearing')) mixed.push(showName(path));
    if (!flags.includes('unclassified')) continue;
    count++;
    if (first.length < 10) first.push(showName(path));
  }
  return { classes, special, unclassified: { count, first }, databases, outside, nested, mixed };
}

function safely<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
