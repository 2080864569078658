import { digestOf } from '../core/digest.ts';
import { damaged, referenceOf, type Form, type Reference } from './form.ts';
import { itemsOf, memberOf, parseTree, stringOf, type Item, type List, type Mapping, type Node } from './json-tree.ts';
import { laidOut, oneLine, quoted, without } from './notation.ts';

/** Contents by path; what is not there, or is no text, is missing. */
export type Contents = ReadonlyMap<string, string>;

const NOTHING: Node = { kind: 'other', raw: 'null' };
/** Members whose value is a list, empty where their file is gone. */
const LISTS: readonly string[] = ['tool_rules', 'mcp_servers'];
/** Members that name elements by their ids. */
const NAMING: readonly string[] = ['block_ids', 'tool_ids', 'shared_block_ids'];

/** Puts the files of a document in the place of its references. What has no file any more is not in it. */
export class Rebuild {
  readonly #form: Form;
  readonly #contents: Contents;
  readonly #gone = new Set<string>();

  constructor(form: Form, contents: Contents) {
    this.#form = form;
    this.#contents = contents;
  }

  /** The whole document. */
  document(root: Node): Node {
    const built = this.#value(root, { key: '', depth: 0 }) ?? NOTHING;
    return this.#gone.size === 0 ? built : this.#unnamed(built);
  }

  /** A value, or null where it goes with a file that is not there. */
  #value(node: Node, { key, depth }: { readonly key: string; readonly depth: number }): Node | null {
    const reference = referenceOf(node, this.#form.marker);
    if (reference !== null) return this.#resolved(reference, { key, depth });
    if (node.kind === 'list') return this.#list(node, depth);
    return node.kind === 'map' ? this.#map(node, depth) : node;
  }

  #list(list: List, depth: number): Node {
    const values = list.items.map(({ value }) => {
      const built = this.#value(value, { key: '', depth: depth + 1 });
      return built !== null && wasEmptied(value, built) ? null : built;
    });
    const items = list.items.map((item, place) => ({ ...item, value: values[place] ?? item.value }));
    return { ...list, items: without(items, (_, place) => values[place] === null) };
  }

  #map(map: Mapping, depth: number): Node | null {
    const values = map.members.map(({ key, value }) => this.#value(value, { key, depth: depth + 1 }));
    const isText = (item: Item): boolean => referenceOf(item.value, this.#form.marker)?.as === 'text';
    if (map.members.some((member, place) => values[place] === null && isText(member))) {
      const id = stringOf(memberOf(map, 'id'));
      if (id !== undefined) this.#gone.add(id);
      return null;
    }
    const members = map.members.map((member, place) => ({ ...member, value: values[place] ?? member.value }));
    const kept = { ...map, members: without(members, (_, place) => values[place] === null) };
    return this.#inContext(map, kept);
  }

  #resolved(reference: Reference, { key, depth }: { readonly key: string; readonly depth: number }): Node | null {
    const { as, path, member } = reference;
    const text = this.#contents.get(path);
    if (as === 'text' || as === 'entry') return text === undefined ? null : this.#string(text, path);
    if (as === 'lines') return text === undefined ? { kind: 'list', items: [], inner: '' } : this.#lines(text, { path, depth });
    if (as === 'json')
      return text === undefined ? { kind: 'other', raw: LISTS.includes(key) ? '[]' : 'null' } : this.#json(text, { path, depth });
    const value = text === undefined ? undefined : memberOf(parseTree(text, { subject: path }).value, member ?? '');
    const own = stringOf(value);
    return own === undefined
      ? { kind: 'other', raw: laidOut(value ?? NOTHING, this.#form.layout, { depth }) }
      : this.#string(own, `${path}#${member ?? ''}`);
  }

  /** A string as it was written, if it still says the same. */
  #string(text: string, key: string): Node {
    const raw = this.#form.raw[key];
    const isSame = raw !== undefined && stringOf(parseTree(raw, { subject: key }).value) === text;
    return { kind: 'string', raw: isSame ? raw : quoted(text, this.#form.escapes) };
  }

  #lines(text: string, { path, depth }: { readonly path: string; readonly depth: number }): Node {
    const raw = this.#form.raw[path];
    const isAsItCame = this.#form.logs[path] === digestOf(text);
    if (raw !== undefined && isAsItCame) return parseTree(raw, { subject: path }).value;
    return this.#set(
      { kind: 'list', inner: '', items: messagesOf(text, { path, isAsItCame }).map((value) => ({ before: '', value, after: '' })) },
      depth,
    );
  }

  #json(text: string, { path, depth }: { readonly path: string; readonly depth: number }): Node {
    const { value } = parseTree(text, { subject: path });
    const raw = this.#form.raw[path];
    const was = raw === undefined ? undefined : parseTree(raw, { subject: path }).value;
    return was !== undefined && oneLine(was) === oneLine(value) ? was : this.#set(value, depth);
  }

  #set(value: Node, depth: number): Node {
    return parseTree(laidOut(value, this.#form.layout, { depth }), { subject: 'a value' }).value;
  }

  /** Which messages are in context is said by their ids or places: those of a log that changed may be gone. */
  #inContext(before: Mapping, after: Mapping): Node {
    const reference = referenceOf(memberOf(before, 'messages') ?? NOTHING, this.#form.marker);
    if (reference?.as !== 'lines') return after;
    const text = this.#contents.get(reference.path);
    if (text !== undefined && this.#form.logs[reference.path] === digestOf(text)) return after;
    const messages = itemsOf(memberOf(after, 'messages'));
    const ids = new Set(messages.map((one) => stringOf(memberOf(one, 'id'))));
    const lacks = ({ value }: Item): boolean =>
      value.kind === 'string' ? !ids.has(stringOf(value)) : value.kind === 'other' && Number(value.raw) >= messages.length;
    return withLists(after, ['in_context_message_ids', 'in_context_message_indices'], lacks);
  }

  /** The document without the ids of what is gone. */
  #unnamed(node: Node): Node {
    if (node.kind === 'list') return { ...node, items: node.items.map((item) => ({ ...item, value: this.#unnamed(item.value) })) };
    if (node.kind !== 'map') return node;
    const inner: Mapping = { ...node, members: node.members.map((one) => ({ ...one, value: this.#unnamed(one.value) })) };
    const isGone = (value: Node | undefined): boolean => this.#gone.has(stringOf(value) ?? '');
    const named = withLists(inner, NAMING, ({ value }) => isGone(value));
    return withLists(named, ['files_agents'], ({ value }) => isGone(memberOf(value, 'file_id')));
  }
}

/** The messages of a log; empty lines are none. Throws AF_DAMAGED for what was added and is no message. */
function messagesOf(text: string, { path, isAsItCame }: { readonly path: string; readonly isAsItCame: boolean }): readonly Node[] {
  return text.split('\n').flatMap((line, place) => {
    if (line.trim() === '') return [];
    const { value } = parseTree(line, { subject: `${path}:${String(place + 1)}` });
    if (value.kind !== 'map' && !isAsItCame) throw damaged(path, `has something in line ${String(place + 1)} that is no message`);
    return [value];
  });
}

/** Whether an element had files of its own, and has none any more: a skill. */
function wasEmptied(before: Node, after: Node): boolean {
  const files = memberOf(after, 'files');
  const had = memberOf(before, 'files');
  return had?.kind === 'map' && had.members.length > 0 && files?.kind === 'map' && files.members.length === 0;
}

function withLists(map: Mapping, keys: readonly string[], gone: (item: Item) => boolean): Mapping {
  return {
    ...map,
    members: map.members.map((member) =>
      keys.includes(member.key) && member.value.kind === 'list'
        ? { ...member, value: { ...member.value, items: without(member.value.items, gone) } }
        : member,
    ),
  };
}
