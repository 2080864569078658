import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { systemCode } from '../../core/errors.ts';
import { fsPath, showName, type RelPath } from '../../core/name.ts';
import { microsecondsOf } from '../../manifest/entry.ts';
import { setTime } from '../../install/times.ts';
import type { PathMap } from '../../install/relocate/path-map.ts';
import { JsonText, spellings } from '../../install/relocate/json-text.ts';
import { rewriteFile } from '../../install/relocate/rewrite-file.ts';
import { HELD, type JsonColumn } from '../../profile/profile.ts';
import type { ColumnChange } from '../../providers/sqlite/change.ts';
import type { Sqlite } from '../../providers/sqlite/sqlite.ts';
import type { HomePlan } from './plan.ts';

/** A file, and how many paths in it were rewritten. */
export interface Rewrite {
  readonly path: string;
  readonly count: number;
}

/** What could not be changed, and why. */
export interface Unwritten {
  readonly path: string;
  readonly why: string;
}

/** What came of the staged files. */
export interface Changed {
  readonly rewrites: readonly Rewrite[];
  readonly unwritten: readonly Unwritten[];
  /** Those that differ from what is recorded. */
  readonly changed: readonly RelPath[];
  /** Tables that had rows and are emptied or held. */
  readonly emptied: readonly { readonly path: RelPath; readonly table: string }[];
}

/** Changes the staged files of a plan. */
export async function changeStaged(
  staging: string,
  { texts, databases, advanced }: HomePlan,
  { map, sqlite }: { readonly map: PathMap; readonly sqlite: Sqlite | null },
): Promise<Changed> {
  const rewrites: Rewrite[] = [];
  const unwritten: Unwritten[] = [];
  const changed: RelPath[] = [];
  const emptied: { readonly path: RelPath; readonly table: string }[] = [];
  /** `change` gives how many paths it rewrote, and null where it changed nothing at all. */
  const tried = async (path: RelPath, change: (target: string | Buffer) => Promise<number | null> | number | null): Promise<void> => {
    try {
      const count = await change(fsPath(staging, path));
      if (count !== null && !changed.includes(path)) changed.push(path);
      if (count !== null && count > 0) rewrites.push({ path: showName(path), count });
    } catch (error) {
      // What is wrong with the disk is wrong with all of it.
      if (systemCode(error) !== undefined) throw error;
      unwritten.push({ path: showName(path), why: error instanceof Error ? error.message : String(error) });
    }
  };
  for (const [path, kinds] of map.isEmpty ? [] : texts)
    await tried(path, (target) => kinds.reduce((sum, kind) => sum + rewriteFile(target, kind, map), 0) || null);
  for (const [path, { columns, cleared, held }] of databases)
    await tried(path, async (target) => {
      if (sqlite === null) throw new Error('the program sqlite3 is not there');
      if (typeof target !== 'string') throw new Error('its name is no text');
      let count = 0;
      const changes = map.isEmpty ? [] : columns.map((one) => columnChange(one, map, (times) => (count += times)));
      const full = await sqlite.change(target, { columns: changes, cleared, held, holder: `${target}${HELD}` });
      emptied.push(...full.map((table) => ({ path, table })));
      const holder = `${path}${HELD}` as RelPath;
      if (held.length > 0 && existsSync(fsPath(staging, holder))) changed.push(holder);
      return count === 0 && full.length === 0 ? null : count;
    });
  for (const [path, key] of advanced)
    await tried(path, (target) => {
      advance(target, key);
      return 0;
    });
  return { rewrites, unwritten, changed, emptied };
}

/** How the values of a column are rewritten; tells how many paths in each. */
function columnChange(place: string | JsonColumn, map: PathMap, onRewrite: (times: number) => void): ColumnChange {
  if (typeof place === 'string')
    return {
      column: place,
      holding: map.moved.map(({ from }) => from),
      rewrite: (text) =>
        map.rewrite(text, () => {
          onRewrite(1);
        }),
    };
  const { column, keys = null, except } = place;
  return {
    column,
    holding: map.moved.flatMap(({ from }) => spellings(from)),
    rewrite(text) {
      const json = new JsonText(map, { keys, except });
      const rewritten = json.line(text);
      onRewrite(json.count);
      return rewritten;
    },
  };
}

/** Adds one to the first number of that name in a JSON file, and leaves every other character as it is. */
function advance(path: string | Buffer, key: string): void {
  const text = readFileSync(path, 'utf8');
  const name = JSON.stringify(key);
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const found = /^(\s*:\s*)(\d+)/.exec(text.slice(at + name.length));
    if (found === null) continue;
    const [, colon = '', number = ''] = found;
    const from = at + name.length + colon.length;
    const { mtimeNs } = lstatSync(path, { bigint: true });
    writeFileSync(path, `${text.slice(0, from)}${String(BigInt(number) + 1n)}${text.slice(from + number.length)}`);
    setTime(path, microsecondsOf(mtimeNs));
    return;
  }
  throw new Error(`it has no number '${key}'`);
}
