import { copyFileSync, constants, lstatSync, mkdirSync, readdirSync, realpathSync, chmodSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { ROOT_PATH, childPath, fsPath, nameFromBytes, type RelPath } from '../core/name.ts';
import { databaseOf } from '../manifest/sidecars.ts';
import type { Profile } from '../profile/profile.ts';

/**
 * Copies the files of class host and secret that the old tree has and the staged one lacks: a bundle that brings no
 * secrets may not take them away. Returns their paths.
 */
export function carryOver(old: string, staged: string, profile: Profile): readonly RelPath[] {
  const carried: RelPath[] = [];
  const visit = (path: RelPath): void => {
    for (const name of readdirSync(fsPath(old, path), { encoding: 'buffer' }).map(nameFromBytes).sort()) {
      const child = childPath(path, name);
      if (child === '.perdure') continue;
      const from = fsPath(old, child);
      const stat = lstatSync(from);
      if (stat.isDirectory()) visit(child);
      else if (
        stat.isFile() &&
        ['host', 'secret'].includes(profile.classify(child).class) &&
        !isBeside(staged, child) &&
        copyMissing(from, fsPath(staged, child))
      )
        carried.push(child);
    }
  };
  visit(ROOT_PATH);
  return carried;
}

/** Whether SQLite kept it beside a database that the staged tree brings: of another state, it would damage that one. */
function isBeside(staged: string, path: RelPath): boolean {
  const main = databaseOf(path);
  return main !== null && lstatSync(fsPath(staged, main.path), { throwIfNoEntry: false }) !== undefined;
}

function copyMissing(from: string | Buffer, to: string | Buffer): boolean {
  if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return false;
  const parent = Buffer.from(dirname(Buffer.from(to as string).toString('latin1')), 'latin1');
  if (!isPlain(parent)) return false;
  const times = lstatSync(parent, { throwIfNoEntry: false });
  if (times === undefined) mkdirSync(parent, { recursive: true, mode: 0o700 });
  copyFileSync(from, to, constants.COPYFILE_EXCL);
  const { mode, mtime } = lstatSync(from);
  chmodSync(to, mode & 0o7777);
  utimesSync(to, mtime, mtime);
  if (times !== undefined) utimesSync(parent, times.mtime, times.mtime);
  return true;
}

/** Whether a path, as far as it exists, is no link and leads through none: a staged tree may not send a copy elsewhere. */
function isPlain(path: Buffer): boolean {
  let at = path;
  while (lstatSync(at, { throwIfNoEntry: false }) === undefined) at = Buffer.from(dirname(at.toString('latin1')), 'latin1');
  return realpathSync(at, { encoding: 'buffer' }).equals(at);
}
