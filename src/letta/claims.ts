import { digestOf } from '../core/digest.ts';
import { checkName, parseRelPath, type RelPath } from '../core/name.ts';

/** No name that is made here is longer, in bytes; the file system takes 255. */
const LONGEST_NAME = 200;
const LONGEST_PATH = 1000;

/** What stands where, under which name it was wanted. */
export interface Renamed {
  readonly wanted: string;
  readonly path: string;
}

/**
 * Gives out the paths of a new tree. What is asked for comes from a document that may be hostile: no path leads out of its
 * directory, no two are one on a file system that folds case, and none is one that the native layout or git gives a meaning.
 */
export class Claims {
  /** Spelling of each directory, and of each file, by its folded path. */
  readonly #directories = new Map<string, string>();
  readonly #files = new Set<string>();
  readonly renamed: Renamed[] = [];

  /** The path of a file below a directory: the one that is wanted, or the next one that is safe and free. */
  file(under: string, { name, ending = '' }: { readonly name: string; readonly ending?: string }): RelPath {
    const wanted = `${under}/${name}${ending}`;
    const parts = `${name}${ending}`.split('/').map((part) => safeName(part));
    const fits = Buffer.byteLength(`${under}/${parts.join('/')}`) <= LONGEST_PATH && parts.length <= 32;
    const names = fits ? parts : [`${digestOf(name)}${ending}`];
    const last = names.pop() ?? '_';
    const directory = this.#directory(under, names);
    const dot = ending === '' ? last.lastIndexOf('.') : last.length - ending.length;
    const [stem, tail] = dot > 0 ? [last.slice(0, dot), last.slice(dot)] : [last, ''];
    let path = `${directory}/${last}`;
    for (let more = 2; this.#files.has(fold(path)) || this.#directories.has(fold(path)); more++)
      path = `${directory}/${stem}-${String(more)}${tail}`;
    this.#files.add(fold(path));
    if (path !== wanted) this.renamed.push({ wanted, path });
    return parseRelPath(path);
  }

  /** The path of a directory that is nobody else's. */
  directory(under: string, name: string): RelPath {
    const safe = safeName(name);
    const parent = this.#directory(under, []);
    let path = `${parent}/${safe}`;
    for (let more = 2; this.#files.has(fold(path)) || this.#directories.has(fold(path)); more++) path = `${parent}/${safe}-${String(more)}`;
    this.#directories.set(fold(path), path);
    if (path !== `${under}/${name}`) this.renamed.push({ wanted: `${under}/${name}`, path });
    return parseRelPath(path);
  }

  /** A directory in the spelling that it has, where none of its parts is a file. */
  #directory(under: string, names: readonly string[]): string {
    let path = '';
    for (const name of [...under.split('/'), ...names]) {
      let next = path === '' ? name : `${path}/${name}`;
      while (this.#files.has(fold(next))) next = `${next}-d`;
      const known = this.#directories.get(fold(next));
      if (known === undefined) this.#directories.set(fold(next), next);
      path = known ?? next;
    }
    return path;
  }
}

/** As a file system folds names that takes two spellings for one. */
function fold(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

/** Names that the native layout leaves out of a state, with its patterns. */
const LEFT_OUT = /\.(pid|sock|swp|partial)$|^\..*\.tmp$|^\.DS_Store$|^\._/i;
// A repository runs commands of its configuration, and a control directory makes an agent.
const SPECIAL = /^\.(git|perdure)$/i;

/** One name that is safe: as it is wherever it can be. */
function safeName(name: string): string {
  let safe = name
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069/\\]/g, '_')
    .replace(/^\.{1,2}$|^$/, '_');
  if (SPECIAL.test(safe) || /^\.(.*\.tmp|DS_Store|_.*)$/i.test(safe)) safe = `_${safe}`;
  else if (LEFT_OUT.test(safe)) safe = `${safe}_`;
  if (Buffer.byteLength(safe) <= LONGEST_NAME) return checkName(safe);
  const ending = /\.[a-z0-9]{1,8}$/.exec(safe)?.[0] ?? '';
  // Cut between characters.
  const start = Buffer.from(safe)
    .subarray(0, LONGEST_NAME - 80)
    .toString('utf8')
    .replace(/\ufffd+$/, '');
  return checkName(`${start}-${digestOf(name.toWellFormed()).slice(0, 16)}${ending}`);
}
