import { adopt, referencesIn } from './adopt.ts';
import { DOCUMENT_FILE, FORM_FILE, PLAIN_FORM, damaged, parseForm, type Form } from './form.ts';
import { itemText, itemsOf, memberOf, parseTree, stringOf, type Item, type Node } from './json-tree.ts';
import { charactersIn, laidOut } from './notation.ts';
import { Rebuild, type Contents } from './rebuild.ts';
import { agentsOf, withoutSecrets } from './secret-values.ts';
import { wrapped } from './wrapping.ts';

/** The document of an agent, in which references stand. */
export interface Frame {
  readonly form: Form;
  readonly root: Item;
  /** Whether it came from a file of Letta. */
  readonly imported: boolean;
}

/** Reads the frame of an agent that was imported, or makes that of one that was not. Throws AF_DAMAGED. */
export function frameOf({
  document,
  form,
  name,
}: {
  readonly document: string | undefined;
  readonly form: string | undefined;
  /** What an agent is called whose own files do not say so. */
  readonly name: string;
}): Frame {
  if (document === undefined && form === undefined) return { ...plainFrame(name), imported: false };
  if (document === undefined || form === undefined) throw damaged(document === undefined ? DOCUMENT_FILE : FORM_FILE, 'is gone');
  const root = parseTree(document, { subject: DOCUMENT_FILE });
  if (agentsOf(root.value).length === 0) throw damaged(DOCUMENT_FILE, 'holds no agent');
  return { form: parseForm(form), root, imported: true };
}

/** The least that Letta takes for an agent; name and description stand in its own files where they say so. */
function plainFrame(name: string): Omit<Frame, 'imported'> {
  const self = (member: string): object => ({ [PLAIN_FORM.marker]: { as: 'member', path: 'private/self.json', member } });
  const agent = {
    name,
    description: self('description'),
    system: self('system'),
    agent_type: 'letta_v1_agent',
    tool_ids: [],
    source_ids: [],
    block_ids: [],
    tool_rules: [],
    tags: [],
    tool_exec_environment_variables: {},
    id: 'agent-0',
    in_context_message_ids: [],
    messages: [],
    files_agents: [],
    group_ids: [],
  };
  const lists = { groups: [], blocks: [], files: [], sources: [], tools: [], mcp_servers: [] };
  const { value } = parseTree(JSON.stringify({ agents: [agent], ...lists, metadata: {} }), { subject: 'a new agent' });
  const root = parseTree(laidOut(value, PLAIN_FORM.layout), { subject: 'a new agent' });
  return { form: PLAIN_FORM, root: { ...root, after: '\n' } };
}

/** The paths among some that a document is made of. */
export function partsAmong({ form, root }: Frame, paths: readonly string[]): readonly string[] {
  const named = new Set(referencesIn(root.value, form).map(({ path }): string => path));
  return paths.filter(
    (path) => named.has(path) || /^private\/memory\/.+\.md$|^body\/tools\/[^/]+\.(py|ts|json)$|^body\/skills\/[^/]+\/./s.test(path),
  );
}

/** A document, and what is in it. */
export interface PutTogether {
  readonly text: string;
  /** Paths of which something stands in it. */
  readonly used: ReadonlySet<string>;
  /** Labels of blocks that are longer than they may be. */
  readonly tooLong: readonly string[];
  /** Names of secrets and environment variables in it, all without values. */
  readonly secrets: readonly string[];
}

/** Puts a document together from its frame and the files. */
export function putTogether(frame: Frame, contents: Contents): PutTogether {
  const { form } = frame;
  const grown = adopt(frame.root.value, { form, contents });
  const used = new Set(referencesIn(grown, form).flatMap(({ path }): string[] => (contents.has(path) ? [path] : [])));
  const { root, secrets } = withoutSecrets(new Rebuild(form, contents).document(grown));
  return {
    text: wrapped(itemText({ ...frame.root, value: root }), form.wrappings),
    used,
    tooLong: tooLongIn(root),
    secrets: [...new Set(secrets.map(({ name }) => name))],
  };
}

/** Letta counts the characters of Unicode. */
function tooLongIn(root: Node): readonly string[] {
  const blocks = [
    memberOf(root, 'blocks'),
    ...agentsOf(root).flatMap((one) => [memberOf(one, 'core_memory'), memberOf(one, 'memory_blocks')]),
  ];
  return blocks.flatMap(itemsOf).flatMap((block) => {
    const limit = memberOf(block, 'limit');
    const text = stringOf(memberOf(block, 'value')) ?? '';
    const isOver = limit?.kind === 'other' && charactersIn(text) > Number(limit.raw);
    return isOver ? [stringOf(memberOf(block, 'label')) ?? ''] : [];
  });
}
