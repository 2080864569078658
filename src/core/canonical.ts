import { AgentError } from './errors.ts';

/** What canonical JSON can hold: no undefined, no number beyond 2^53, no fraction. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/**
 * Writes canonical JSON: members sorted by UTF-16 code unit, no white space, ECMAScript strings.
 * Members that are undefined are left out. Numbers must be safe integers.
 * @see RFC 8785
 */
export function canonical(value: Json): string {
  // What is in order already is written by the engine, several times as fast.
  return isInOrder(value) ? JSON.stringify(value) : written(value);
}

/** A number as text; throws INTERNAL where it has no canonical form. */
function numberText(value: number): string {
  if (!Number.isSafeInteger(value)) throw new AgentError('INTERNAL', `number ${String(value)} has no canonical form`);
  return String(value);
}

/** Whether all members are in canonical order. Throws as `numberText` does. */
function isInOrder(value: Json): boolean {
  if (typeof value === 'number') return numberText(value) !== '';
  if (value === null || typeof value !== 'object') return true;
  if (isList(value)) return value.every((member) => typeof member === 'string' || isInOrder(member));
  let last = '';
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (key < last || (member !== undefined && typeof member !== 'string' && !isInOrder(member))) return false;
    last = key;
  }
  return true;
}

function written(value: Json): string {
  if (typeof value === 'number') return numberText(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isList(value)) return `[${value.map(written).join(',')}]`;
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${written(member)}`);
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
