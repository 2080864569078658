/** Where something was, and where it is now; absolute, without a slash at the end. */
export interface Moved {
  readonly from: string;
  readonly to: string;
}

/** What may not follow a path, or it is the beginning of another name. */
const NAME = '\\p{L}\\p{N}_.~+@%-';

/**
 * Rewrites absolute paths in text, at the boundaries of names: `/home/a/x` and not `/home/a/x2`. Where one place lies within another
 * the inner one counts. What was rewritten is not looked at again.
 */
export class PathMap {
  readonly moved: readonly Moved[];
  readonly #pattern: RegExp | null;
  readonly #to: ReadonlyMap<string, string>;

  constructor(moved: readonly Moved[]) {
    const real = moved.filter(({ from, to }) => from !== to && from.startsWith('/') && from !== '/');
    this.moved = [...real].sort((a, b) => b.from.length - a.from.length);
    this.#to = new Map([...this.moved].reverse().map(({ from, to }) => [from, to]));
    const paths = [...this.#to.keys()].reverse().map(escaped).join('|');
    this.#pattern = paths === '' ? null : new RegExp(`(?<=^|[^/${NAME}]|(?:file|vscode-file):\\/\\/)(?:${paths})(?![${NAME}])`, 'gu');
  }

  /** Whether there is nothing to rewrite. */
  get isEmpty(): boolean {
    return this.#pattern === null;
  }

  /** The text with each path of an old place in the new one. */
  rewrite(text: string, onRewrite: () => void): string {
    if (this.#pattern === null || !this.moved.some(({ from }) => text.includes(from))) return text;
    return text.replace(this.#pattern, (path, at: number) => {
      const to = this.#to.get(path) ?? path;
      // In a new place that lies within the old one it was rewritten before.
      if (to.startsWith(`${path}/`) && text.startsWith(to, at)) return path;
      onRewrite();
      return to;
    });
  }

  /** A whole path in its new place; null where it lay in none of the old ones. */
  place(path: string): string | null {
    const found = this.moved.find(({ from }) => path === from || path.startsWith(`${from}/`));
    return found === undefined ? null : `${found.to}${path.slice(found.from.length)}`;
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** A name made of a path, as Claude Code makes one: `-` for each character that is neither letter nor digit. */
export function slugOf(path: string): string {
  return path.replace(/[^A-Za-z0-9]/g, '-');
}

/**
 * The name in the new place of a directory that is named by a path: by the path that it is `of`, where it is known, since a name may stand for several
 * paths; else where the old place's name begins it. Null where it was in none.
 */
export function newSlug(name: string, { of: path, map }: { readonly of: string | null; readonly map: PathMap }): string | null {
  if (path !== null && slugOf(path) === name) {
    const to = map.place(path);
    return to === null ? null : slugOf(to);
  }
  for (const { from, to } of map.moved) {
    const old = slugOf(from);
    if (name === old || name.startsWith(`${old}-`)) return `${slugOf(to)}${name.slice(old.length)}`;
  }
  return null;
}
