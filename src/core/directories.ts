import { dirname } from 'node:path';
import { systemCode } from './errors.ts';
import type { FileSystem } from './file-layer.ts';
import { explain, isAbsent } from './system-error.ts';

/** Makes every directory of a tree of this account writable to it, so that what is in it can be removed. */
export async function openDirectories(io: FileSystem['promises'], path: string): Promise<void> {
  await io.chmod(path, 0o700);
  for (const entry of await io.readdir(path, { withFileTypes: true }))
    if (entry.isDirectory()) await openDirectories(io, `${path}/${entry.name}`);
}

/** Whether something is at a path; a link counts, wherever it leads. */
export async function exists(io: FileSystem['promises'], path: string): Promise<boolean> {
  return io.lstat(path).then(
    () => true,
    (error: unknown) => {
      if (isAbsent(error)) return false;
      throw explain(error, path);
    },
  );
}

/**
 * Makes a directory and what is missing above it, 0700; returns those that were made, the outermost first. One by one: a
 * recursive mkdir of Node does not end where a file system takes no directories.
 */
export async function makeDirectories(io: FileSystem['promises'], path: string): Promise<readonly string[]> {
  const missing: string[] = [];
  for (let at = path; !(await exists(io, at)); at = dirname(at)) missing.unshift(at);
  for (const made of missing)
    await io.mkdir(made, { mode: 0o700 }).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw explain(error, path);
    });
  return missing;
}
