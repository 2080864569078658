import { parseJson } from '../../core/canonical.ts';
import { parentPath, parseRelPath, showName, type RelPath } from '../../core/name.ts';
import type { Entry, FileEntry } from '../../manifest/entry.ts';
import type { TreeSide } from '../../manifest/compare.ts';
import { databaseOf } from '../../manifest/sidecars.ts';
import { chunksOf, walkTree, type GetChunk } from '../../manifest/tree.ts';
import { compileGlob } from '../../profile/glob.ts';
import { HELD, plainName, type JsonColumn, type Profile } from '../../profile/profile.ts';
import type { PathMap } from '../../install/relocate/path-map.ts';
import type { TextKind } from '../../install/relocate/rewrite-file.ts';

/** What is done to the files of a state in its new place. Paths are those of the state. */
export interface HomePlan {
  readonly texts: ReadonlyMap<RelPath, readonly TextKind[]>;
  readonly databases: ReadonlyMap<
    RelPath,
    { readonly columns: readonly (string | JsonColumn)[]; readonly cleared: readonly string[]; readonly held: readonly string[] }
  >;
  /** Numbers of JSON files that go up by one. */
  readonly advanced: ReadonlyMap<RelPath, string>;
  /** Links that lead to an old place, and where they lead now. */
  readonly links: ReadonlyMap<RelPath, string>;
  /** Directories that are named by a path, and the path that the transcripts in it say they are of. */
  readonly slugs: ReadonlyMap<RelPath, string | null>;
  /** Files that go, and files or directories that are set aside. */
  readonly dropped: readonly Told[];
  readonly held: readonly Told[];
  /** What a person has to do again. */
  readonly redo: readonly Told[];
  /** Logs of the databases, which are in them afterwards, and what holds rows of them since an earlier move. */
  readonly beside: readonly RelPath[];
}

/** A path, and what is to be known of it. */
interface Told {
  readonly path: RelPath;
  readonly about: string;
}

/** Finds out what is to be done: `isElsewhere` whether the host is another, so that what is done once on a new host is due. */
export async function planHome(
  tree: TreeSide,
  profile: Profile,
  {
    isElsewhere,
    map,
    skip,
    missing,
    named = (path) => [path],
  }: {
    readonly isElsewhere: boolean;
    readonly map: PathMap;
    /** Paths, as they are shown, that stay as they are. */
    readonly skip: readonly string[];
    /** Credentials that the state lacks. */
    readonly missing: readonly string[];
    /** The names by which the profile may know a path, where that is not the path itself. */
    readonly named?: (path: string) => readonly string[];
  },
): Promise<HomePlan> {
  const { relocate = [], onMove = [], redo = [] } = profile.data;
  const places = relocate.map((rule) => ({ rule, pattern: compileGlob(rule.match) }));
  const actions = (isElsewhere ? onMove : []).map((rule) => ({ rule, pattern: compileGlob(wholeOf(rule.match)) }));
  const again = (isElsewhere ? redo : []).map((rule) => ({ rule, pattern: compileGlob(rule.match), told: false }));
  const texts = new Map<RelPath, TextKind[]>();
  const databases = new Map<RelPath, { columns: (string | JsonColumn)[]; cleared: string[]; held: string[] }>();
  const advanced = new Map<RelPath, string>();
  const links = new Map<RelPath, string>();
  const slugs = new Map<RelPath, string | null>();
  const logs: RelPath[] = [];
  const [dropped, held, redone]: [Told[], Told[], Told[]] = [[], [], []];
  const database = (path: RelPath): { columns: (string | JsonColumn)[]; cleared: string[]; held: string[] } => {
    const found = databases.get(path) ?? { columns: [], cleared: [], held: [] };
    databases.set(path, found);
    return found;
  };
  const isWithin = (path: RelPath, list: readonly Told[]): boolean => list.some((one) => path.startsWith(`${one.path}/`));
  const skipped = new Set(skip);
  for (const path of missing)
    for (const one of again)
      if (!one.told && one.pattern.test(path)) {
        one.told = true;
        redone.push({ path: parseRelPath(path), about: one.rule.about });
      }
  for await (const { path, entry } of walkTree(tree.pages, tree.get)) {
    const directory = parentPath(path);
    if (slugs.get(directory) === null && path.endsWith('.jsonl') && isReadable(entry)) slugs.set(directory, await pathIn(entry, tree.get));
    if (skipped.has(showName(path))) continue;
    // What is set aside since an earlier move is of its place, too.
    const names = named(plainName(path));
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
      if (!names.some((name) => pattern.test(name))) continue;
      if (rule.as === 'slug') {
        if (entry.type === 'directory') slugs.set(path, null);
        continue;
      }
      if (!isReadable(entry)) continue;
      if (rule.as !== 'sqlite')
        texts.set(path, [
          ...(texts.get(path) ?? []),
          rule.as === 'text'
            ? { as: 'text' }
            : { as: 'json', keys: rule.keys ?? null, except: rule.except, lines: plainName(path).endsWith('.jsonl') },
        ]);
      else if (entry.flags?.includes('sqlite') === true) database(path).columns.push(...rule.columns);
    }
    const main = databaseOf(path);
    if (main !== null && entry.flags?.includes('sidecar') === true) logs.push(path);
    if (path.endsWith(HELD)) logs.push(path);
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
    beside: logs.filter((path) => databases.has(databaseOf(path)?.path ?? (path.slice(0, -HELD.length) as RelPath))),
  };
}

/** The path that a transcript says it is of, as far as its first chunk tells. */
async function pathIn(entry: FileEntry, get: GetChunk): Promise<string | null> {
  for await (const digest of chunksOf(entry, get)) {
    const token = /"cwd":\s*("[^"\\]*(?:\\.[^"\\]*)*")/.exec((await get(digest)).toString('utf8'))?.[1];
    const value = token === undefined ? null : parseJson(token);
    return typeof value === 'string' ? value : null;
  }
  return null;
}

/** A directory is dropped or held whole, not file by file. */
function wholeOf(match: string): string {
  return match.replace(/(\/\*\*|\/)$/, '');
}

function isReadable(entry: Entry): entry is FileEntry {
  return entry.type === 'file' && entry.class !== 'secret';
}
