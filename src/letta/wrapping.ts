import { digestOf } from '../core/digest.ts';
import { itemText, parseTree, stringOf, type Item, type Subject } from './json-tree.ts';
import { quoted, wellFormed, type Escapes } from './notation.ts';

/**
 * A JSON string around a document, which several exporters of Letta write. `raw` is there where no writer that is known
 * would write it as it was; it counts as long as the document in it is the one whose digest is `of`.
 */
export interface Wrapping {
  readonly before: string;
  readonly after: string;
  readonly escapes: Escapes;
  readonly raw?: string;
  readonly of?: string;
}

/** No document is wrapped more often. */
const MOST = 4;

/** Takes the strings around a document off; the outermost comes first. */
export function unwrapped(
  text: string,
  subject: Subject,
): { readonly wrappings: readonly Wrapping[]; readonly inner: string; readonly root: Item } {
  const wrappings: Wrapping[] = [];
  let inner = text;
  for (;;) {
    const root = parseTree(inner, subject);
    const held = stringOf(root.value);
    if (held === undefined || root.value.kind !== 'string' || wrappings.length === MOST) return { wrappings, inner, root };
    const { raw } = root.value;
    inner = wellFormed(held);
    const escapes = quoted(inner, 'utf8') === raw ? 'utf8' : 'ascii';
    const { before, after } = root;
    const known = quoted(inner, escapes) === raw;
    wrappings.push({ before, after, escapes, ...(known ? {} : { raw, of: digestOf(inner) }) });
  }
}

/** Puts the strings around a document again. */
export function wrapped(inner: string, wrappings: readonly Wrapping[]): string {
  return wrappings.reduceRight((text, { before, after, escapes, raw, of }) => {
    const literal = raw !== undefined && of === digestOf(text) ? raw : quoted(text, escapes);
    return itemText({ before, value: { kind: 'string', raw: literal }, after });
  }, inner);
}
