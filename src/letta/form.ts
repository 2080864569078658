import { parseJson } from '../core/canonical.ts';
import { AgentError } from '../core/errors.ts';
import { parseRelPath, type RelPath } from '../core/name.ts';
import { memberOf, stringOf, type Node, type Scalar } from './json-tree.ts';
import type { Escapes, Layout } from './notation.ts';
import type { Wrapping } from './wrapping.ts';

/** The document without what has files of its own, in whose place references stand. */
export const DOCUMENT_FILE = 'private/state/letta/agent.json';
/** How the document was written. */
export const FORM_FILE = 'private/state/letta/form.json';
/** Name, description and system prompt. */
export const SELF_FILE = 'private/self.json';
/** Names that are to be given values. */
export const SECRETS_FILE = 'private/secrets/letta.json';

const FORMAT = 'perdure-letta/1';

/** How a document was written, so that it can be written so again. */
export interface Form {
  readonly format: typeof FORMAT;
  readonly wrappings: readonly Wrapping[];
  /** The key of references, which occurs nowhere else in the document. */
  readonly marker: string;
  readonly escapes: Escapes;
  readonly layout: Layout;
  /** Values that are not written as the rest is, by path, or by path and member: `private/self.json#name`. */
  readonly raw: Readonly<Record<string, string>>;
  /** Digests of the message logs as they came. */
  readonly logs: Readonly<Record<string, string>>;
}

/**
 * What stands in a file of its own: a text, whose element goes with the file (`text`) or whose member does (`entry`); JSON
 * lines; a JSON value; a member of a JSON file.
 */
export interface Reference {
  readonly as: 'text' | 'entry' | 'lines' | 'json' | 'member';
  readonly path: RelPath;
  readonly member?: string;
}

/** The form of a document of which nothing is known. */
export const PLAIN_FORM: Form = {
  format: FORMAT,
  wrappings: [],
  marker: '$perdure',
  escapes: 'utf8',
  layout: { indent: 2, comma: ',', colon: ': ' },
  raw: {},
  logs: {},
};

/** A key that occurs nowhere in a text, so that a reference is not mistaken for what the document says itself. */
export function freeMarker(text: string): string {
  for (let number = 1; ; number++) {
    const marker = number === 1 ? PLAIN_FORM.marker : `${PLAIN_FORM.marker}${String(number)}`;
    if (!text.includes(marker) && !text.includes(marker.replace('$', '\\u0024'))) return marker;
  }
}

/** Writes a reference. */
export function referenceNode(reference: Reference, marker: string): Scalar {
  return { kind: 'other', raw: JSON.stringify({ [marker]: reference }) };
}

/**
 * Reads a reference; null where a value is none. Throws AF_DAMAGED for one that leads elsewhere: a document that was edited or
 * came from others must not fetch a secret.
 */
export function referenceOf(node: Node, marker: string): Reference | null {
  const found = node.kind === 'map' && node.members.length === 1 ? memberOf(node, marker) : undefined;
  if (found === undefined) return null;
  const as = stringOf(memberOf(found, 'as'));
  const path = stringOf(memberOf(found, 'path'));
  const member = stringOf(memberOf(found, 'member'));
  const kind = (['text', 'entry', 'lines', 'json', 'member'] as const).find((one) => one === as);
  if (kind === undefined || path === undefined) throw damaged(DOCUMENT_FILE, 'has a reference that is none');
  const checked = parseRelPath(path);
  if (!/^(?:body|private|artifacts)\//.test(checked) || checked.startsWith('private/secrets/'))
    throw damaged(DOCUMENT_FILE, `refers to '${checked}', which does not belong in an agent file`);
  return { as: kind, path: checked, ...(member === undefined ? {} : { member }) };
}

/** Reads the form of a document; throws AF_DAMAGED. */
export function parseForm(text: string): Form {
  const value = parseJson(text);
  if (!isForm(value)) throw damaged(FORM_FILE, `is not of the format ${FORMAT}`);
  return value;
}

function isForm(value: unknown): value is Form {
  return (
    isRecord(value) &&
    value['format'] === FORMAT &&
    typeof value['marker'] === 'string' &&
    (value['escapes'] === 'utf8' || value['escapes'] === 'ascii') &&
    Array.isArray(value['wrappings']) &&
    value['wrappings'].every((one) => isRecord(one) && isBlank(one['before']) && isBlank(one['after'])) &&
    isLayout(value['layout']) &&
    isTexts(value['raw']) &&
    isTexts(value['logs'])
  );
}

function isLayout(value: unknown): boolean {
  return (
    isRecord(value) &&
    (value['indent'] === null || (typeof value['indent'] === 'number' && value['indent'] >= 0 && value['indent'] <= 64)) &&
    isBlank(value['comma'], ',') &&
    isBlank(value['colon'], ':')
  );
}

function isBlank(value: unknown, sign = ''): boolean {
  return typeof value === 'string' && /^\ufeff?[ \t\n\r]*$/.test(sign === '' ? value : value.replace(sign, ''));
}

function isTexts(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every((one) => typeof one === 'string');
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An error about a file of an imported agent. */
export function damaged(path: string, what: string): AgentError {
  return new AgentError('AF_DAMAGED', `'${path}' ${what}`, {
    hints: [
      { command: 'agent log', effect: 'lists states in which it may be whole' },
      { command: 'agent af export --from REV -o FILE.af', effect: 'writes one of them; nothing was changed' },
    ],
  });
}
