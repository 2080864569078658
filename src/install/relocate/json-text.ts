import type { PathMap } from './path-map.ts';

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/** Which strings of JSON are rewritten. */
export interface JsonPlaces {
  /** Names below which values are rewritten; null for all, and names too. */
  readonly keys: readonly string[] | null;
  /** Names below which nothing is. */
  readonly except?: readonly string[] | undefined;
  readonly lines?: boolean | undefined;
}

/**
 * Rewrites paths in the strings of JSON text, line by line, and leaves every other character as it is: no number, order or
 * white space changes. It follows the nesting from line to line, so that JSON lines and a document of many lines are one.
 */
export class JsonText {
  readonly #map: PathMap;
  /** Names below which values are rewritten; null for all, and names too. */
  readonly #keys: ReadonlySet<string> | null;
  /** For each open bracket whether it lies below a wanted name, and whether it is an object. */
  readonly #except: ReadonlySet<string>;
  readonly #lines: boolean;
  readonly #open: { readonly isWanted: boolean; readonly isObject: boolean; readonly isExcept: boolean }[] = [];
  #key: string | null = null;
  #isName = true;
  count = 0;

  /** `lines` says that each line is a document of its own, whatever one before it left open. */
  constructor(map: PathMap, { keys, except = [], lines = false }: JsonPlaces) {
    this.#map = map;
    this.#except = new Set(except);
    this.#lines = lines;
    this.#keys = keys === null ? null : new Set(keys);
  }

  /** The next line, rewritten. */
  line(text: string): string {
    if (this.#lines) this.#open.length = 0;
    // A line that is a document by itself and says nothing of an old place need not be looked through.
    if (this.#open.length === 0 && isWhole(text) && !this.#speaksOf(text)) return text;
    return text.replace(TOKEN, (token) => this.#token(token));
  }

  #speaksOf(text: string): boolean {
    return text.includes('\\/') || text.includes('\\u') || this.#map.moved.some(({ from }) => text.includes(from));
  }

  #token(token: string): string {
    const top = this.#open.at(-1);
    if (token === '{' || token === '[') {
      const isExcept = top?.isExcept === true || (this.#key !== null && this.#except.has(this.#key));
      this.#open.push({ isWanted: this.#isWanted(), isObject: token === '{', isExcept });
      this.#key = null;
      this.#isName = token === '{';
      return token;
    }
    if (token === '}' || token === ']') {
      this.#open.pop();
      this.#key = null;
      return token;
    }
    if (token === ',') {
      this.#isName = top?.isObject === true;
      if (this.#isName) this.#key = null;
      return token;
    }
    if (token === ':') {
      this.#isName = false;
      return token;
    }
    return this.#string(token, top?.isObject === true && this.#isName);
  }

  #string(token: string, isName: boolean): string {
    const text = textOf(token);
    if (text === null) return token;
    if (isName) this.#key = text;
    if (isName ? this.#keys !== null : !this.#isWanted()) return token;
    let changes = 0;
    const rewritten = this.#map.rewrite(text, () => changes++);
    this.count += changes;
    return changes === 0 ? token : JSON.stringify(rewritten);
  }

  #isWanted(): boolean {
    if (this.#open.at(-1)?.isExcept === true || (this.#key !== null && this.#except.has(this.#key))) return false;
    return this.#keys === null || (this.#key !== null && this.#keys.has(this.#key)) || this.#open.at(-1)?.isWanted === true;
  }
}

/** How a path may stand in a string of JSON: as it is, with its slashes escaped, or with all that is not ASCII escaped. */
export function spellings(path: string): readonly string[] {
  const quoted = JSON.stringify(path).slice(1, -1);
  const ascii = quoted.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return [...new Set([quoted, ascii].flatMap((one) => [one, one.replaceAll('/', '\\/')]))];
}

function isWhole(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith('{') && trimmed.endsWith('}');
}

function textOf(token: string): string | null {
  try {
    return JSON.parse(token) as string;
  } catch {
    return null;
  }
}
