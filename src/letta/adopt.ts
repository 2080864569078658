import { byCodeUnit } from '../core/order.ts';
import { referenceOf, type Form, type Reference } from './form.ts';
import { itemsOf, memberOf, parseTree, stringOf, withItems, withMembers, type List, type Node } from './json-tree.ts';
import { charactersIn, enlarged, extended, laidOut } from './notation.ts';
import type { Contents } from './rebuild.ts';
import { isOlder } from './secret-values.ts';

/** Letta's own limit of a block, in characters. */
const BLOCK_LIMIT = 20_000;
const ENDINGS: Readonly<Record<string, string>> = { py: 'python', ts: 'typescript' };

/**
 * Adds references for files that none names: notes of the memory become blocks, tools that have their schema beside them tools,
 * files in the directory of a skill files of it, and a directory with a `SKILL.md` a skill.
 */
export function adopt(root: Node, { form, contents }: { readonly form: Form; readonly contents: Contents }): Node {
  const known = new Set(referencesIn(root, form).map(({ path }): string => path));
  const fresh = [...contents.keys()].filter((path) => !known.has(path)).sort(byCodeUnit);
  const blocks = withBlocks(root, { fresh, contents, form });
  const tools = withTools(blocks, { fresh, contents, form });
  return isOlder(root) ? tools : withSkills(tools, { fresh, form });
}

/** All references of a document. */
export function referencesIn(node: Node, form: Form): readonly Reference[] {
  const own = referenceOf(node, form.marker);
  if (own !== null) return [own];
  if (node.kind === 'list') return node.items.flatMap(({ value }) => referencesIn(value, form));
  return node.kind === 'map' ? node.members.flatMap(({ value }) => referencesIn(value, form)) : [];
}

interface Fresh {
  readonly fresh: readonly string[];
  readonly contents: Contents;
  readonly form: Form;
}

function withBlocks(root: Node, { fresh, contents, form }: Fresh): Node {
  const blocks = fresh.flatMap((path) => {
    const label = /^private\/memory\/(.+)\.md$/s.exec(path)?.[1];
    const value = { [form.marker]: { as: 'text', path } };
    return label === undefined ? [] : [{ value, limit: Math.max(BLOCK_LIMIT, charactersIn(contents.get(path) ?? '')), label }];
  });
  if (isOlder(root)) return withElements(root, { key: 'core_memory', elements: blocks, form, depth: 0 });
  const first = freeNumber(root, 'block');
  const elements = blocks.map((block, at) => ({ ...block, read_only: false, id: `block-${String(first + at)}` }));
  return ofFirstAgent(withElements(root, { key: 'blocks', elements, form, depth: 0 }), (agent) =>
    withElements(agent, { key: 'block_ids', elements: elements.map(({ id }) => id), form, depth: 2 }),
  );
}

function withTools(root: Node, { fresh, contents, form }: Fresh): Node {
  const tools = fresh.flatMap((path) => {
    const [, name, ending] = /^body\/tools\/([^/]+)\.(py|ts)$/.exec(path) ?? [];
    const schema = `body/tools/${name ?? ''}.json`;
    if (name === undefined || ending === undefined || !contents.has(schema)) return [];
    const source_code = { [form.marker]: { as: 'text', path } };
    const json_schema = { [form.marker]: { as: 'json', path: schema } };
    return [{ tool_type: 'custom', source_type: ENDINGS[ending], name, tags: [], source_code, json_schema }];
  });
  if (isOlder(root)) return withElements(root, { key: 'tools', elements: tools, form, depth: 0 });
  const first = freeNumber(root, 'tool');
  const elements = tools.map((tool, at) => ({ id: `tool-${String(first + at)}`, ...tool }));
  return ofFirstAgent(withElements(root, { key: 'tools', elements, form, depth: 0 }), (agent) =>
    withElements(agent, { key: 'tool_ids', elements: elements.map(({ id }) => id), form, depth: 2 }),
  );
}

function withSkills(root: Node, { fresh, form }: { readonly fresh: readonly string[]; readonly form: Form }): Node {
  const found = new Map<string, string[]>();
  for (const path of fresh) {
    const [, name, inner] = /^body\/skills\/([^/]+)\/(.+)$/s.exec(path) ?? [];
    if (name !== undefined && inner !== undefined) found.set(name, [...(found.get(name) ?? []), inner]);
  }
  const entriesOf = (name: string): Entries =>
    (found.get(name) ?? []).map((key) => [key, { [form.marker]: { as: 'entry', path: `body/skills/${name}/${key}` } }]);
  const directoryOf = (skill: Node): string =>
    referencesIn(skill, form).flatMap(({ path }) => /^body\/skills\/([^/]+)\//.exec(path)?.[1] ?? [])[0] ?? '';
  const old = new Set(itemsOf(memberOf(root, 'skills')).map(directoryOf));
  const elements = [...found.keys()].flatMap((name) => {
    const isSkill = !old.has(name) && found.get(name)?.includes('SKILL.md') === true;
    return isSkill ? [{ name, files: Object.fromEntries(entriesOf(name)), source_url: null }] : [];
  });
  const grown = withMembers(root, {
    skills: (skills) =>
      withItems(skills, (skill) =>
        withMembers(skill, { files: (files) => withEntries(files, { entries: entriesOf(directoryOf(skill)), form }) }),
      ),
  });
  const lacks = elements.length > 0 && grown.kind === 'map' && memberOf(grown, 'skills') === undefined;
  const ready = lacks ? enlarged(grown, { key: 'skills', value: EMPTY }, { ...form, depth: 0 }) : grown;
  return withElements(ready, { key: 'skills', elements, form, depth: 0 });
}

type Entries = readonly (readonly [string, unknown])[];

/** The files of a skill with more of them. */
function withEntries(files: Node, { entries, form }: { readonly entries: Entries; readonly form: Form }): Node {
  return entries.reduce<Node>(
    (map, [key, value]) => (map.kind === 'map' ? enlarged(map, { key, value: nodeOf(value) }, { ...form, depth: 3 }) : map),
    files,
  );
}

const EMPTY: List = { kind: 'list', items: [], inner: '' };

/** An object one of whose lists has more elements; where it is null, it is a list of them. */
function withElements(
  map: Node,
  {
    key,
    elements,
    form,
    depth,
  }: { readonly key: string; readonly elements: readonly unknown[]; readonly form: Form; readonly depth: number },
): Node {
  const { layout } = form;
  if (elements.length === 0) return map;
  const values = elements.map((one) => parseTree(laidOut(nodeOf(one), layout, { depth: depth + 2 }), { subject: key }).value);
  return withMembers(map, {
    [key]: (list) => {
      const isNull = list.kind === 'other' && list.raw === 'null';
      return list.kind === 'list' || isNull ? extended(list.kind === 'list' ? list : EMPTY, values, { layout, depth: depth + 1 }) : list;
    },
  });
}

function ofFirstAgent(root: Node, change: (agent: Node) => Node): Node {
  return withMembers(root, { agents: (list) => withItems(list, (agent, at) => (at === 0 ? change(agent) : agent)) });
}

function nodeOf(value: unknown): Node {
  return parseTree(JSON.stringify(value), { subject: 'a new element' }).value;
}

/** A number from which on no element has an id. */
function freeNumber(root: Node, kind: 'block' | 'tool'): number {
  const numbers = itemsOf(memberOf(root, `${kind}s`)).map((one) => {
    const id = stringOf(memberOf(one, 'id')) ?? '';
    const digits = id.startsWith(`${kind}-`) ? id.slice(kind.length + 1) : '';
    return /^[0-9]{1,9}$/.test(digits) ? Number(digits) : -1;
  });
  return numbers.reduce((most, one) => Math.max(most, one), -1) + 1;
}
