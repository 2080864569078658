import { AgentError, type Hint } from '../core/errors.ts';

/** A string, or a number, true, false or null, as it is written. */
export type Scalar = { readonly kind: 'string'; readonly raw: string } | { readonly kind: 'other'; readonly raw: string };

/** An element of a list, with the white space around it. */
export interface Item {
  readonly before: string;
  readonly value: Node;
  readonly after: string;
}

/** A member of an object; `raw` is its key as it is written, `colon` all that stands between key and value. */
export interface Member extends Item {
  readonly key: string;
  readonly raw: string;
  readonly colon: string;
}

/** A list; `inner` is the white space of an empty one. */
export interface List {
  readonly kind: 'list';
  readonly items: readonly Item[];
  readonly inner: string;
}

/** An object; its members keep their order, and a key may stand there twice. */
export interface Mapping {
  readonly kind: 'map';
  readonly members: readonly Member[];
  readonly inner: string;
}

/** JSON of which no byte is lost: numbers, escapes, order and white space are as they were written. */
export type Node = Scalar | List | Mapping;

const BLANK = /[ \t\n\r]*/y;
// Python writes the last three, and reads them.
const WORD = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|NaN|-?Infinity/y;
const DEEPEST = 200;

/** What is read, for errors. */
export interface Subject {
  readonly subject: string;
  readonly hints?: readonly Hint[];
}

/** Parses JSON text losslessly. Throws AF_DAMAGED with the place. */
export function parseTree(text: string, { subject, hints = [] }: Subject): Item {
  let at = text.startsWith('\ufeff') ? 1 : 0;
  const wrong = (what: string): AgentError => {
    const lines = text.slice(0, at).split('\n');
    const place = `line ${String(lines.length)}, character ${String((lines.at(-1)?.length ?? 0) + 1)}`;
    return new AgentError('AF_DAMAGED', `'${subject}' is no JSON: at ${place} it ${what}`, { hints });
  };
  const blank = (): string => {
    BLANK.lastIndex = at;
    const [found = ''] = BLANK.exec(text) ?? [];
    at += found.length;
    return found;
  };
  const string = (): string => {
    const from = at;
    for (;;) {
      at = text.indexOf('"', at + 1);
      if (at < 0) {
        at = from;
        throw wrong('begins a string that does not end');
      }
      let slashes = 0;
      while (text[at - 1 - slashes] === '\\') slashes++;
      if (slashes % 2 === 0) break;
    }
    at++;
    const raw = text.slice(from, at);
    try {
      JSON.parse(raw);
    } catch {
      at = from;
      throw wrong('has a string that is none');
    }
    return raw;
  };
  const value = (depth: number): Node => {
    const sign = text[at];
    if (depth > DEEPEST) throw wrong(`is nested more than ${String(DEEPEST)} deep`);
    if (sign === '"') return { kind: 'string', raw: string() };
    if (sign === '{') return map(depth);
    if (sign === '[') return list(depth);
    WORD.lastIndex = at;
    const [raw] = WORD.exec(text) ?? [];
    if (raw === undefined) throw wrong(at < text.length ? 'has something that is no value' : 'ends too early');
    at += raw.length;
    return { kind: 'other', raw };
  };
  /** Whether another one follows after a comma. */
  const goesOn = (end: string): boolean => {
    const sign = text[at];
    if (sign !== ',' && sign !== end) throw wrong(at < text.length ? `lacks a comma or '${end}'` : 'ends too early');
    at++;
    return sign === ',';
  };
  const list = (depth: number): List => {
    at++;
    const inner = blank();
    if (text[at] === ']') {
      at++;
      return { kind: 'list', items: [], inner };
    }
    const items: Item[] = [];
    for (let before = inner; ; before = blank()) {
      const one = value(depth + 1);
      items.push({ before, value: one, after: blank() });
      if (!goesOn(']')) return { kind: 'list', items, inner: '' };
    }
  };
  const map = (depth: number): Mapping => {
    at++;
    const inner = blank();
    if (text[at] === '}') {
      at++;
      return { kind: 'map', members: [], inner };
    }
    const members: Member[] = [];
    for (let before = inner; ; before = blank()) {
      if (text[at] !== '"') throw wrong(at < text.length ? 'has a member without a key' : 'ends too early');
      const raw = string();
      const lead = blank();
      if (text[at] !== ':') throw wrong('has a key without a value');
      at++;
      const colon = `${lead}:${blank()}`;
      const one = value(depth + 1);
      members.push({ before, key: JSON.parse(raw) as string, raw, colon, value: one, after: blank() });
      if (!goesOn('}')) return { kind: 'map', members, inner: '' };
    }
  };
  const before = text.slice(0, at) + blank();
  const root = value(0);
  const after = blank();
  if (at < text.length) throw wrong('goes on after its end');
  return { before, value: root, after };
}

/** Writes a tree as it was read. */
export function treeText(node: Node): string {
  if (node.kind === 'list') return `[${node.inner}${node.items.map(itemText).join(',')}]`;
  if (node.kind === 'map') {
    const members = node.members.map(({ before, raw, colon, value, after }) => `${before}${raw}${colon}${treeText(value)}${after}`);
    return `{${node.inner}${members.join(',')}}`;
  }
  return node.raw;
}

/** Writes a value with the white space around it. */
export function itemText({ before, value, after }: Item): string {
  return `${before}${treeText(value)}${after}`;
}

/** The value of a key, of which the last one counts; undefined where there is none, or no object. */
export function memberOf(node: Node | undefined, key: string): Node | undefined {
  return node?.kind === 'map' ? node.members.findLast((one) => one.key === key)?.value : undefined;
}

/** The text of a string, or undefined for anything else. */
export function stringOf(node: Node | undefined): string | undefined {
  return node?.kind === 'string' ? (JSON.parse(node.raw) as string) : undefined;
}

/** The elements of a list; none for anything else. */
export function itemsOf(node: Node | undefined): readonly Node[] {
  return node?.kind === 'list' ? node.items.map(({ value }) => value) : [];
}

/** An object whose values at some keys are others; of a key that stands there twice the last one. */
export function withMembers(node: Node, change: Readonly<Record<string, (value: Node) => Node>>): Node {
  if (node.kind !== 'map') return node;
  const last = new Map(node.members.map(({ key }, place) => [key, place]));
  return {
    ...node,
    members: node.members.map((member, place) => {
      const other = Object.hasOwn(change, member.key) && last.get(member.key) === place ? change[member.key] : undefined;
      return other === undefined ? member : { ...member, value: other(member.value) };
    }),
  };
}

/** A list each of whose elements is changed; anything else as it is. */
export function withItems(node: Node, change: (value: Node, place: number) => Node): Node {
  return node.kind === 'list' ? { ...node, items: node.items.map((item, place) => ({ ...item, value: change(item.value, place) })) } : node;
}
