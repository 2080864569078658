import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  type Dirent,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fsPath, nameToBytes, showName, type RelPath } from '../../core/name.ts';
import { microsecondsOf } from '../../manifest/entry.ts';
import { setTime } from '../../install/times.ts';
import { newSlug, type PathMap } from '../../install/relocate/path-map.ts';
import { rewriteFile } from '../../install/relocate/rewrite-file.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import { HELD } from '../../profile/profile.ts';
import type { Sqlite } from '../../providers/sqlite.ts';
import type { HomePlan } from './plan.ts';

/** A file, and how many paths in it were rewritten. */
export interface Rewrite {
  readonly path: string;
  readonly count: number;
}

/** What could not be rewritten, and why. */
export interface Unwritten {
  readonly path: string;
  readonly why: string;
}

/** Changes the staged files of a plan. */
export async function changeStaged(
  staging: string,
  { texts, databases, advanced }: HomePlan,
  { map, sqlite }: { readonly map: PathMap; readonly sqlite: Sqlite | null },
): Promise<{ readonly rewrites: readonly Rewrite[]; readonly unwritten: readonly Unwritten[]; readonly changed: readonly RelPath[] }> {
  const rewrites: Rewrite[] = [];
  const unwritten: Unwritten[] = [];
  const changed: RelPath[] = [];
  /** `change` gives how many paths it rewrote, and null where it changed nothing at all. */
  const tried = async (path: RelPath, change: (target: string | Buffer) => Promise<number | null> | number | null): Promise<void> => {
    try {
      const count = await change(fsPath(staging, path));
      if (count !== null && !changed.includes(path)) changed.push(path);
      if (count !== null && count > 0) rewrites.push({ path: showName(path), count });
    } catch (error) {
      unwritten.push({ path: showName(path), why: error instanceof Error ? error.message : String(error) });
    }
  };
  for (const [path, kinds] of map.isEmpty ? [] : texts)
    await tried(path, (target) => kinds.reduce((sum, kind) => sum + rewriteFile(target, kind, map), 0) || null);
  for (const [path, { columns, cleared, held }] of databases)
    await tried(path, async (target) => {
      if (sqlite === null) throw new Error('the program sqlite3 is not there');
      let count = 0;
      const rewrite = (text: string): string => map.rewrite(text, () => count++);
      await sqlite.change(String(target), {
        columns: map.isEmpty ? [] : columns,
        rewrite,
        cleared,
        held,
        holder: `${String(target)}${HELD}`,
      });
      const holder = `${path}${HELD}` as RelPath;
      if (existsSync(fsPath(staging, holder))) changed.push(holder);
      return count === 0 && cleared.length === 0 && held.length === 0 ? null : count;
    });
  for (const [path, key] of advanced)
    await tried(path, (target) => {
      advance(target, key);
      return 0;
    });
  return { rewrites, unwritten, changed };
}

/** Adds one to the first number of that name in a JSON file, and leaves every other character as it is. */
function advance(path: string | Buffer, key: string): void {
  const text = readFileSync(path, 'utf8');
  const pattern = new RegExp(`("${key.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}"\\s*:\\s*)(\\d+)`);
  if (!pattern.test(text)) throw new Error(`it has no number '${key}'`);
  const { mtimeNs, mode } = lstatSync(path, { bigint: true });
  writeFileSync(
    path,
    text.replace(pattern, (_, name: string, number: string) => `${name}${String(BigInt(number) + 1n)}`),
    { mode: Number(mode & 0o7777n) },
  );
  setTime(path, microsecondsOf(mtimeNs));
}

/** Directories that are named by an old path, and what they are to be called; the innermost first. */
export function renamesOf(
  root: string,
  slugs: readonly RelPath[],
  map: PathMap,
): readonly { readonly from: RelPath; readonly to: RelPath }[] {
  return slugs.flatMap((path) => {
    const name = basename(path);
    const to = newSlug(name, pathIn(fsPath(root, path)), map);
    return to === null || to === name ? [] : [{ from: path, to: join(dirname(path), to) as RelPath }];
  });
}

/** The path that the transcripts in a directory say they are of. */
function pathIn(directory: string | Buffer): string | null {
  let entries: readonly Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch {
    return null;
  }
  for (const entry of entries) {
    if (!entry.isFile() || !entry.name.endsWith('.jsonl')) continue;
    const found = /"cwd":\s*("(?:[^"\\]|\\.)*")/.exec(readFileSync(join(String(directory), entry.name), 'utf8').slice(0, 256 * 1024))?.[1];
    if (found !== undefined) return JSON.parse(found) as string;
  }
  return null;
}

interface Placing {
  readonly staging: string;
  readonly plan: HomePlan;
  readonly renames: readonly { readonly from: RelPath; readonly to: RelPath }[];
  /** Staged files that differ from what is there. */
  readonly changed: readonly RelPath[];
}

/**
 * Puts the changed files in place. Each step can be done again: what was renamed, dropped or held already stays so, and files come
 * from the staging, which is made anew of the recorded state.
 */
export function placeHome(root: string, { staging, plan, renames, changed }: Placing): void {
  for (const { from, to } of renames) {
    const [old, now] = [fsPath(root, from), fsPath(root, to)];
    if (existsSync(old) && !existsSync(now)) renameSync(old, now);
  }
  const placeOf = (path: RelPath): RelPath => {
    const found = renames.find(({ from }) => path.startsWith(`${from}/`));
    return found === undefined ? path : (`${found.to}${path.slice(found.from.length)}` as RelPath);
  };
  for (const path of changed) {
    const target = fsPath(root, placeOf(path));
    // It may be set aside already.
    const isHeld = plan.held.some((one) => path === one.path || path.startsWith(`${one.path}/`)) && !existsSync(target);
    if (isHeld) continue;
    if (plan.databases.has(path)) for (const one of sidecarsOf(placeOf(path))) rmSync(fsPath(root, one), { force: true });
    mkdirSync(Buffer.from(dirname(String(target))), { recursive: true, mode: 0o700 });
    renameSync(fsPath(staging, path), target);
  }
  for (const [path, target] of plan.links) placeLink(fsPath(root, placeOf(path)), target);
  for (const { path } of plan.dropped) rmSync(fsPath(root, placeOf(path)), { force: true, recursive: true });
  for (const { path } of plan.held) {
    const target = fsPath(root, placeOf(path));
    const aside = Buffer.concat([Buffer.from(target), Buffer.from(HELD)]);
    if (existsSync(target) && !existsSync(aside)) renameSync(target, aside);
  }
}

/** Makes a link lead elsewhere, by one rename, and keeps its time; one that is set aside already does so. */
function placeLink(path: string | Buffer, target: string): void {
  const old = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  if (old?.isSymbolicLink() !== true) return;
  const temporary = Buffer.concat([Buffer.from(path), Buffer.from('.perdure-new')]);
  rmSync(temporary, { force: true });
  symlinkSync(nameToBytes(target), temporary);
  setTime(temporary, microsecondsOf(old.mtimeNs));
  renameSync(temporary, path);
}
