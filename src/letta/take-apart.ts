import { AgentError } from '../core/errors.ts';
import { Claims, type Renamed } from './claims.ts';
import { DOCUMENT_FILE, FORM_FILE, PLAIN_FORM, SECRETS_FILE, freeMarker, type Form } from './form.ts';
import { itemText, itemsOf, memberOf, stringOf, withItems, withMembers, type Node } from './json-tree.ts';
import { escapesOf, layoutOf } from './notation.ts';
import { Parts } from './parts.ts';
import { agentsOf, isOlder, secretsText, withoutSecrets, type NamedSecret } from './secret-values.ts';
import { unwrapped } from './wrapping.ts';

/** A document of Letta as files. */
export interface TakenApart {
  /** Contents by path, in the native layout. */
  readonly files: ReadonlyMap<string, string>;
  /** Names of the agents in it; the first one is the one that the directory is. */
  readonly agents: readonly string[];
  /** What could not be called what it is called. */
  readonly renamed: readonly Renamed[];
  /** What no text file can hold, and stays in the document. */
  readonly kept: readonly string[];
  readonly secrets: readonly NamedSecret[];
}

const CONFIG_DIRECTORY = 'private/config/letta';
/** Members of an agent that are its configuration. */
const CONFIG = ['llm_config', 'embedding_config', 'model_settings', 'compaction_settings', 'tool_rules'];

/** Takes a document apart so that `putTogether` gives it back to the byte. Throws AF_DAMAGED. */
export function takeApart(text: string, { subject }: { readonly subject: string }): TakenApart {
  const hints = [{ command: 'agent af import OTHER-FILE.af DIR', effect: 'export the agent from Letta once more; nothing was changed' }];
  const { wrappings, inner, root } = unwrapped(text, { subject, hints });
  const blanked = withoutSecrets(root.value);
  const agents = agentsOf(root.value);
  if (agents.length === 0 || agents.some(({ kind }) => kind !== 'map'))
    throw new AgentError('AF_DAMAGED', `'${subject}' is JSON, but no agent file of Letta: no agent is in it`, { hints });
  const claims = new Claims();
  const form = { ...PLAIN_FORM, marker: freeMarker(inner), escapes: escapesOf(inner), layout: layoutOf(root.value) };
  const parts = new Parts(form, claims);
  const taken = isOlder(root.value) ? takeAgent(parts, blanked.root, { first: true, depth: 0 }) : takeDocument(parts, blanked.root);
  parts.finish();
  const written: Form = { ...form, wrappings, raw: Object.fromEntries(parts.raw), logs: Object.fromEntries(parts.logs) };
  const secrets = secretsText(blanked.secrets);
  const files = new Map([
    ...parts.files,
    [DOCUMENT_FILE, itemText({ ...root, value: taken })],
    [FORM_FILE, `${JSON.stringify(written, null, 2)}\n`],
    ...(secrets === null ? [] : [[SECRETS_FILE, secrets] as const]),
  ]);
  return {
    files,
    agents: agents.map((one) => stringOf(memberOf(one, 'name')) ?? 'agent'),
    renamed: claims.renamed,
    kept: parts.kept,
    secrets: blanked.secrets,
  };
}

function takeDocument(parts: Parts, root: Node): Node {
  const sources = new Map(
    itemsOf(memberOf(root, 'sources')).map((one) => [stringOf(memberOf(one, 'id')) ?? '', stringOf(memberOf(one, 'name')) ?? 'source']),
  );
  return withMembers(root, {
    agents: (list) => withItems(list, (agent, at) => takeAgent(parts, agent, { first: at === 0, depth: 2 })),
    blocks: (list) => takeBlocks(parts, list),
    files: (list) =>
      withItems(list, (file) => {
        const name = stringOf(memberOf(file, 'file_name')) ?? 'file';
        const source = sources.get(stringOf(memberOf(file, 'source_id')) ?? '');
        const under = source === undefined || name.startsWith(`${source}/`) ? '' : `${source.replaceAll('/', '_')}/`;
        return withMembers(file, { content: (value) => parts.text(value, { under: 'artifacts', name: under + name }) });
      }),
    tools: (list) => takeTools(parts, list, { depth: 1 }),
    mcp_servers: (value) => parts.json(value, { under: CONFIG_DIRECTORY, name: 'mcp_servers', depth: 1 }),
    skills: (list) =>
      withItems(list, (skill) => {
        let under: string | undefined;
        const name = stringOf(memberOf(skill, 'name')) ?? 'skill';
        return withMembers(skill, {
          files: (files) => {
            if (files.kind !== 'map') return files;
            const directory = (under ??= parts.claims.directory('body/skills', name));
            return withMembers(
              files,
              Object.fromEntries(
                files.members.map(({ key }) => [key, (value: Node): Node => parts.entry(value, { under: directory, name: key })]),
              ),
            );
          },
        });
      }),
  });
}

function takeAgent(parts: Parts, agent: Node, { first, depth }: { readonly first: boolean; readonly depth: number }): Node {
  const own = first ? null : parts.claims.directory('private/memory/agents', stringOf(memberOf(agent, 'name')) ?? 'agent');
  const self = own === null ? 'private/self.json' : `${own}/self.json`;
  const config = own === null ? CONFIG_DIRECTORY : `${CONFIG_DIRECTORY}/${own.slice('private/memory/'.length)}`;
  const member =
    (name: string) =>
    (value: Node): Node =>
      parts.member(value, { path: self, name });
  return withMembers(agent, {
    name: member('name'),
    description: member('description'),
    system: member('system'),
    core_memory: (list) => takeBlocks(parts, list),
    memory_blocks: (list) => takeBlocks(parts, list),
    tools: (list) => takeTools(parts, list, { depth: depth + 1 }),
    messages: (list) => parts.lines(list, { under: own ?? 'private/memory', name: 'messages', depth: depth + 1 }),
    ...Object.fromEntries(
      CONFIG.map((name) => [name, (value: Node): Node => parts.json(value, { under: config, name, depth: depth + 1 })]),
    ),
  });
}

function takeBlocks(parts: Parts, list: Node): Node {
  return withItems(list, (block) => {
    const name = stringOf(memberOf(block, 'label')) ?? 'block';
    return withMembers(block, { value: (value) => parts.text(value, { under: 'private/memory', name, ending: '.md' }) });
  });
}

const ENDINGS: Readonly<Record<string, string>> = { python: '.py', typescript: '.ts', javascript: '.js' };

function takeTools(parts: Parts, list: Node, { depth }: { readonly depth: number }): Node {
  return withItems(list, (tool) => {
    const name = (stringOf(memberOf(tool, 'name')) ?? 'tool').replaceAll('/', '_');
    const ending = ENDINGS[stringOf(memberOf(tool, 'source_type')) ?? 'python'] ?? '.txt';
    let path: string | undefined;
    const withSource = withMembers(tool, {
      source_code: (value) => parts.text(value, { under: 'body/tools', name, ending, said: (given) => (path = given) }),
    });
    if (path === undefined) return withSource;
    const beside = path.slice('body/tools/'.length, -ending.length);
    return withMembers(withSource, { json_schema: (value) => parts.json(value, { under: 'body/tools', name: beside, depth: depth + 2 }) });
  });
}
