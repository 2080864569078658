import { itemsOf, memberOf, stringOf, treeText, withItems, withMembers, type Node } from './json-tree.ts';

/** A secret or environment variable that a document names; `value` is null where it was blanked, as Letta does. */
export interface NamedSecret {
  /** Where it stands, as a JSON pointer (RFC 6901) to what holds it. */
  readonly place: string;
  readonly name: string;
  readonly value: string | null;
}

const BLANK: Node = { kind: 'string', raw: '""' };

function isNull(value: Node): boolean {
  return value.kind === 'other' && value.raw === 'null';
}

/** Of an MCP server: what Letta leaves out, and others may not. */
const OF_SERVER = ['token', 'token_enc', 'custom_headers', 'custom_headers_enc'];

/**
 * Takes the values of secrets out of a document and names them all. Values are blanked and names kept, as Letta does it; where
 * it did, nothing changes.
 */
export function withoutSecrets(root: Node): { readonly root: Node; readonly secrets: readonly NamedSecret[] } {
  const secrets: NamedSecret[] = [];
  const note = (place: string, name: string, value: Node): Node => {
    const text = isNull(value) ? '' : (stringOf(value) ?? treeText(value));
    secrets.push({ place, name, value: text === '' ? null : text });
    return text === '' ? value : BLANK;
  };
  /** Of `{name: value}`, or of a list of `{key, value}`. */
  const store =
    (place: string) =>
    (value: Node): Node => {
      if (value.kind === 'map')
        return {
          ...value,
          members: value.members.map((one) => ({ ...one, value: note(place, one.key, one.value) })),
        };
      return withItems(value, (one, at) => {
        const name = stringOf(memberOf(one, 'key')) ?? String(at);
        const blank = (inner: Node): Node => note(place, name, inner);
        return withMembers(one, { value: blank, value_enc: blank });
      });
    };
  const agent = (place: string, value: Node): Node =>
    withMembers(value, {
      tool_exec_environment_variables: store(`${place}/tool_exec_environment_variables`),
      secrets: store(`${place}/secrets`),
    });
  const server = (place: string, value: Node): Node =>
    withMembers(value, {
      ...Object.fromEntries(
        OF_SERVER.map((name) => [
          name,
          (inner: Node): Node =>
            inner.kind === 'map' || inner.kind === 'list' ? store(`${place}/${name}`)(inner) : noted(place, name, inner),
        ]),
      ),
      stdio_config: (inner) => withMembers(inner, { env: store(`${place}/stdio_config/env`) }),
    });
  const noted = (place: string, name: string, value: Node): Node =>
    // Absent is not blanked: a server without a token needs none.
    isNull(value) ? value : note(place, name, value);
  const blanked = withMembers(agent('', root), {
    agents: (list) => withItems(list, (one, at) => agent(`/agents/${String(at)}`, one)),
    mcp_servers: (list) => withItems(list, (one, at) => server(`/mcp_servers/${String(at)}`, one)),
  });
  return { root: blanked, secrets };
}

/** The file of names that are to be given values, with those that came with them; null where there are none. */
export function secretsText(secrets: readonly NamedSecret[]): string | null {
  if (secrets.length === 0) return null;
  const places = new Map<string, [string, string][]>();
  for (const { place, name, value } of secrets) places.set(place, [...(places.get(place) ?? []), [name, value ?? '']]);
  // Made entry by entry: a name such as __proto__ is a name like any other.
  const object = Object.fromEntries([...places].map(([place, values]) => [place, Object.fromEntries(values)]));
  return `${JSON.stringify(object, null, 2)}\n`;
}

/** The agents of a document: its list, or, in the older format, the document itself. */
export function agentsOf(root: Node): readonly Node[] {
  return isOlder(root) ? [root] : itemsOf(memberOf(root, 'agents'));
}

/** Whether a document is of the older format: one agent, whose memory is in it. */
export function isOlder(root: Node): boolean {
  return (
    memberOf(root, 'agents') === undefined &&
    (memberOf(root, 'core_memory')?.kind === 'list' || memberOf(root, 'messages')?.kind === 'list')
  );
}
