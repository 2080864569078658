import type { Item, List, Mapping, Member, Node } from './json-tree.ts';

/** Which characters a writer of JSON escapes: only those that must be, or all beyond ASCII. */
export type Escapes = 'utf8' | 'ascii';

/** How a document is set: the width of an indent or null for one line, and its separators. */
export interface Layout {
  readonly indent: number | null;
  readonly comma: string;
  readonly colon: string;
}

/** How this program sets what stands in a file of its own. */
export const OWN_LAYOUT: Layout = { indent: 2, comma: ',', colon: ': ' };
/** One line, with nothing that could be left out. */
const TIGHT: Layout = { indent: null, comma: ',', colon: ':' };

/** Writes a text as a JSON string. */
export function quoted(text: string, escapes: Escapes): string {
  const plain = JSON.stringify(text);
  return escapes === 'utf8' ? plain : plain.replace(/[\u007f-\uffff]/g, escaped);
}

/** A text in which what is no character is written as an escape; in JSON it means the same. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, escaped);
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The escapes of a document, as far as it shows them. */
export function escapesOf(text: string): Escapes {
  return !/[^\0-\u007f]/.test(text) && /\\u(?!00[01])[0-9a-f]{4}/.test(text) ? 'ascii' : 'utf8';
}

/** The layout of a document, as its first members show it. */
export function layoutOf(root: Node): Layout {
  if (root.kind !== 'map') return OWN_LAYOUT;
  const [first, second] = root.members;
  if (first === undefined) return OWN_LAYOUT;
  const colon = first.colon === ':' ? ':' : ': ';
  if (/^\n +$/.test(first.before)) return { indent: first.before.length - 1, comma: ',', colon };
  return { indent: null, comma: second?.before === '' ? ',' : ', ', colon };
}

/** Sets a tree in a layout at a depth: only white space changes. */
export function laidOut(node: Node, layout: Layout, { depth = 0 }: { readonly depth?: number } = {}): string {
  if (node.kind === 'string' || node.kind === 'other') return node.raw;
  const parts =
    node.kind === 'list'
      ? node.items.map(({ value }) => laidOut(value, layout, { depth: depth + 1 }))
      : node.members.map(({ raw, value }) => `${raw}${layout.colon}${laidOut(value, layout, { depth: depth + 1 })}`);
  const [open, close] = node.kind === 'list' ? ['[', ']'] : ['{', '}'];
  if (parts.length === 0) return open + close;
  if (layout.indent === null) return open + parts.join(layout.comma) + close;
  const line = (level: number): string => `\n${' '.repeat(level * (layout.indent ?? 0))}`;
  return open + line(depth + 1) + parts.join(layout.comma + line(depth + 1)) + line(depth) + close;
}

/** A tree on one line. */
export function oneLine(node: Node): string {
  return laidOut(node, TIGHT);
}

/** A list with more elements at its end, set as the others are. */
export function extended(
  list: List,
  values: readonly Node[],
  { layout, depth }: { readonly layout: Layout; readonly depth: number },
): List {
  if (values.length === 0) return list;
  const added = values.map((value) => ({ value }));
  return { ...list, inner: '', items: more(list.items, added, { layout, depth }) };
}

/** An object with one more member at its end, set as the others are. */
export function enlarged(
  map: Mapping,
  { key, value }: { readonly key: string; readonly value: Node },
  { layout, depth, escapes }: { readonly layout: Layout; readonly depth: number; readonly escapes: Escapes },
): Mapping {
  const member = { key, raw: quoted(key, escapes), colon: map.members[0]?.colon ?? layout.colon, value };
  return { ...map, inner: '', members: more<Omit<Member, keyof Item>>(map.members, [member], { layout, depth }) };
}

function more<Rest extends object>(
  items: readonly (Item & Rest)[],
  added: readonly ({ readonly value: Node } & Rest)[],
  { layout, depth }: { readonly layout: Layout; readonly depth: number },
): readonly (Item & Rest)[] {
  const line = (level: number): string => (layout.indent === null ? '' : `\n${' '.repeat(level * layout.indent)}`);
  const first = items[0]?.before ?? line(depth + 1);
  const between = (items.length > 1 ? items.at(-1)?.before : undefined) ?? (layout.indent === null ? layout.comma.slice(1) : first);
  const inner = items.at(-2)?.after ?? '';
  const end = items.at(-1)?.after ?? line(depth);
  const whole = [...items, ...added.map((one) => ({ ...one, before: between, after: inner }))];
  return whole.map((item, place) => ({
    ...item,
    before: place === 0 ? first : item.before,
    after: place === whole.length - 1 ? end : place === items.length - 1 ? inner : item.after,
  }));
}

/** A list or object without some of its parts; what stood before its end stays there. */
export function without<T extends Item>(items: readonly T[], gone: (item: T, place: number) => boolean): readonly T[] {
  const kept = items.filter((item, place) => !gone(item, place));
  const last = kept.at(-1);
  const end = items.at(-1)?.after;
  const first = items[0]?.before;
  if (last === undefined || end === undefined || first === undefined || kept.length === items.length) return kept;
  return kept.map((item, place) => ({
    ...item,
    before: place === 0 ? first : item.before,
    after: item === last ? end : item.after,
  }));
}

/** How many characters of Unicode a text has, as Letta counts them. */
export function charactersIn(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}
