import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { resolve, dirname } from 'node:path';
import { ROOT_PATH, childPath, fsPath, nameFromBytes, showName, type RelPath } from '../core/name.ts';
import type { FileClass, Profile } from '../profile/profile.ts';
import { peekHeader } from './lane/pieces.ts';

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
}

/** Looks at every name below a root and classifies it; reads only the first bytes of files. */
export function survey(root: string, profile: Profile): Survey {
  const classes = new Map<FileClass, { files: number; bytes: bigint }>();
  const special: string[] = [];
  const first: string[] = [];
  const databases: string[] = [];
  const outside: string[] = [];
  const nested: string[] = [];
  let count = 0;
  const add = (name: FileClass, bytes: bigint): void => {
    const sum = classes.get(name) ?? { files: 0, bytes: 0n };
    classes.set(name, { files: sum.files + 1, bytes: sum.bytes + bytes });
  };
  const visit = (path: RelPath): void => {
    for (const name of safely(() => readdirSync(fsPath(root, path), { encoding: 'buffer' }).map(nameFromBytes).sort()) ?? []) {
      const child = childPath(path, name);
      if (name === '.perdure') {
        if (path !== '' && safely(() => lstatSync(fsPath(root, childPath(child, 'format')))) !== undefined) nested.push(showName(path));
        continue;
      }
      const stat = lstatSync(fsPath(root, child), { bigint: true, throwIfNoEntry: false });
      if (stat === undefined) continue;
      const found = profile.classify(child);
      if (stat.isDirectory()) {
        if (found.class === 'volatile' || found.class === 'host') add(found.class, 0n);
        else visit(child);
        continue;
      }
      if (stat.isSymbolicLink()) {
        add(found.class, 0n);
        const target = nameFromBytes(readlinkSync(fsPath(root, child), { encoding: 'buffer' }));
        if (!`${resolve(root, dirname(child), target)}/`.startsWith(`${root}/`)) outside.push(`${showName(child)} -> ${showName(target)}`);
        continue;
      }
      if (!stat.isFile()) {
        special.push(showName(child));
        continue;
      }
      const header = safely(() => peekHeader(fsPath(root, child)));
      const known = profile.classify(child, header);
      add(known.class, stat.size);
      if (header === 'sqlite') databases.push(showName(child));
      if (known.flags.includes('unclassified')) {
        count++;
        if (first.length < 10) first.push(showName(child));
      }
    }
  };
  visit(ROOT_PATH);
  return { classes, special, unclassified: { count, first }, databases, outside, nested };
}

function safely<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
