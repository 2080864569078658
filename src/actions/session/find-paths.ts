import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Files } from '../../core/files.ts';
import { compileGlob } from '../../profile/glob.ts';

/** The paths below a directory that a glob finds, sorted, at most so many. One that ends in `/` finds directories alone; `**` finds nothing. */
export async function findPaths(
  files: Files,
  directory: string,
  { glob, most = 100 }: { readonly glob: string; readonly most?: number },
): Promise<readonly string[]> {
  const isDirectory = glob.endsWith('/');
  let found: readonly string[] = [''];
  for (const name of glob.replace(/\/$/, '').split('/')) {
    const next: string[] = [];
    const isPlain = !/[*?[{]/.test(name);
    const pattern = compileGlob(name);
    for (const at of found) {
      if (isPlain) {
        if (await files.exists(join(directory, at, name)).catch(() => false)) next.push(join(at, name));
      } else for (const one of await list(files, join(directory, at))) if (pattern.test(one)) next.push(join(at, one));
      if (next.length >= MOST_KEPT) break;
    }
    found = next;
  }
  if (!isDirectory) return found.slice(0, most);
  const directories: string[] = [];
  for (const path of found) if (directories.length < most && isDirectoryAt(join(directory, path))) directories.push(path);
  return directories;
}

const MOST_KEPT = 10_000;

async function list(files: Files, path: string): Promise<readonly string[]> {
  return files.list(path).catch(() => []);
}

function isDirectoryAt(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
