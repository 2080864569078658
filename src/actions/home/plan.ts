import { showName, type RelPath } from '../../core/name.ts';
import type { Entry, FileEntry } from '../../manifest/entry.ts';
import { databaseOf } from '../../manifest/sidecars.ts';
import { walkTree } from '../../manifest/tree.ts';
import { compileGlob } from '../../profile/glob.ts';
import { HELD, type Profile } from '../../profile/profile.ts';
import type { PathMap } from '../../install/relocate/path-map.ts';
import type { TextKind } from '../../install/relocate/rewrite-file.ts';
import { sideOf, type OpenState } from '../state/open-state.ts';

/** What is done to the files of a state in its new place. Paths are those of the state. */
export interface HomePlan {
  readonly texts: ReadonlyMap<RelPath, readonly TextKind[]>;
  readonly databases: ReadonlyMap<
    RelPath,
    { readonly columns: readonly string[]; readonly cleared: readonly string[]; readonly held: readonly string[] }
  >;
  /** Numbers of JSON files that go up by one. */
  readonly advanced: ReadonlyMap<RelPath, string>;
  /** Links that lead to an old place, and where they lead now. */
  readonly links: ReadonlyMap<RelPath, string>;
  /** Directories that are named by a path. */
  readonly slugs: readonly RelPath[];
  /** Files that go, and files or directories that are set aside. */
  readonly dropped: readonly Told[];
  readonly held: readonly Told[];
  /** What a person has to do again. */
  readonly redo: readonly Told[];
  /** Logs of the databases, which are in them afterwards. */
  readonly logs: readonly RelPath[];
}

/** A path, and what is to be known of it. */
interface Told {
  readonly path: RelPath;
  readonly about: string;
}

/** Finds out what is to be done: `isElsewhere` whether the host is another, so that what is done once on a new host is due. */
export async function planHome(
  state: OpenState,
  profile: Profile,
  { isElsewhere, map }: { readonly isElsewhere: boolean; readonly map: PathMap },
): Promise<HomePlan> {
  const { relocate = [], onMove = [], redo = [] } = profile.data;
  const places = relocate.map((rule) => ({ rule, pattern: compileGlob(rule.match) }));
  const actions = (isElsewhere ? onMove : []).map((rule) => ({ rule, pattern: compileGlob(wholeOf(rule.match)) }));
  const again = (isElsewhere ? redo : []).map((rule) => ({ rule, pattern: compileGlob(rule.match), told: false }));
  const texts = new Map<RelPath, TextKind[]>();
  const databases = new Map<RelPath, { columns: string[]; cleared: string[]; held: string[] }>();
  const advanced = new Map<RelPath, string>();
  const links = new Map<RelPath, string>();
  const [slugs, logs]: [RelPath[], RelPath[]] = [[], []];
  const [dropped, held, redone]: [Told[], Told[], Told[]] = [[], [], []];
  const database = (path: RelPath): { columns: string[]; cleared: string[]; held: string[] } => {
    const found = databases.get(path) ?? { columns: [], cleared: [], held: [] };
    databases.set(path, found);
    return found;
  };
  const isWithin = (path: RelPath, list: readonly Told[]): boolean => list.some((one) => path.startsWith(`${one.path}/`));
  for await (const { path, entry } of walkTree(sideOf(state).pages, sideOf(state).get)) {
    for (const one of again)
      if (!one.told && one.pattern.test(path)) {
        one.told = true;
        redone.push({ path, about: one.rule.about });
      }
    if (isWithin(path, dropped)) continue;
    const leads = entry.type === 'link' ? map.place(entry.target) : null;
    if (leads !== null) links.set(path, leads);
    for (const { rule, pattern } of actions) {
      if (!pattern.test(path)) continue;
      if (rule.do === 'drop') dropped.push({ path, about: rule.about });
      else if (rule.do === 'hold' && rule.table === undefined) {
        if (!isWithin(path, held) && !showName(path).includes(HELD)) held.push({ path, about: rule.about });
      } else if (!isReadable(entry)) continue;
      else if (rule.do === 'advance') advanced.set(path, rule.key);
      else if (entry.flags?.includes('sqlite') === true) {
        if (rule.do === 'clear') database(path).cleared.push(rule.table);
        else if (rule.table !== undefined) database(path).held.push(rule.table);
      }
    }
    for (const { rule, pattern } of places) {
      if (!pattern.test(path)) continue;
      if (rule.as === 'slug') {
        if (entry.type === 'directory') slugs.push(path);
        continue;
      }
      if (!isReadable(entry)) continue;
      if (rule.as !== 'sqlite')
        texts.set(path, [...(texts.get(path) ?? []), rule.as === 'text' ? { as: 'text' } : { as: 'json', keys: rule.keys ?? null }]);
      else if (entry.flags?.includes('sqlite') === true) database(path).columns.push(...rule.columns);
    }
    const main = databaseOf(path);
    if (main !== null && entry.flags?.includes('sidecar') === true) logs.push(path);
  }
  return {
    texts,
    databases,
    advanced,
    links,
    slugs,
    dropped,
    held,
    redo: redone,
    logs: logs.filter((path) => databases.has(databaseOf(path)?.path ?? path)),
  };
}

/** A directory is dropped or held whole, not file by file. */
function wholeOf(match: string): string {
  return match.replace(/(\/\*\*|\/)$/, '');
}

function isReadable(entry: Entry): entry is FileEntry {
  return entry.type === 'file' && entry.class !== 'secret';
}
