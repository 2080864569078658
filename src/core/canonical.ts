import { AgentError } from './errors.ts';

/** What canonical JSON can hold: no undefined, no number beyond 2^53, no fraction. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/**
 * Writes canonical JSON: members sorted by UTF-16 code unit, no white space, ECMAScript strings.
 * Members that are undefined are left out. Numbers must be safe integers.
 * @see RFC 8785
 */
export function canonical(value: Json): string {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new AgentError('INTERNAL', `number ${String(value)} has no canonical form`);
    return String(value);
  }
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonical).join(',')}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonical(member)}`);
  }
  return `{${members.join(',')}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Parses JSON text; returns undefined where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
