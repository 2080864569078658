import { isUtf8 } from 'node:buffer';
import type { Brand } from './brand.ts';
import { AgentError } from './errors.ts';

/**
 * A path relative to a root, with `/` between names and '' for the root itself. A name that is not UTF-8 is held with
 * each byte from 0x80 as the lone surrogate U+DC00 + byte, so that every name of the file system has one string.
 */
export type RelPath = Brand<string, 'RelPath'>;

/** A name as the formats write it: a string, or base64 of bytes that are not UTF-8. */
export type StoredName = string | { readonly b64: string };

/** The root itself. */
export const ROOT_PATH = '' as RelPath;

const LONE = /[\udc80-\udcff]/;
const PAIRED = /[\ud800-\udbff][\udc00-\udfff]/g;

function isEscaped(text: string): boolean {
  return LONE.test(text) && LONE.test(text.replace(PAIRED, ''));
}

/** Reads a name (or a link target) from the bytes that the file system gave. */
export function nameFromBytes(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte < 0x80 ? byte : 0xdc00 + byte);
  return text;
}

/** Gives the bytes of one name back. */
export function nameToBytes(name: string): Buffer {
  if (!isEscaped(name)) return Buffer.from(name, 'utf8');
  const bytes = Buffer.alloc(name.length);
  for (let at = 0; at < name.length; at++) bytes[at] = name.charCodeAt(at) & 0xff;
  return bytes;
}

/** Writes a name for a format. */
export function storeName(name: string): StoredName {
  return isEscaped(name) ? { b64: nameToBytes(name).toString('base64') } : name;
}

/** Reads a name from a format; throws TREE_DAMAGED where base64 hides a name that is UTF-8. */
export function loadName(stored: StoredName): string {
  if (typeof stored === 'string') {
    // A lone surrogate stands for a byte here; in a format only base64 does, or a character could pass for a separator.
    if (!stored.isWellFormed()) throw new AgentError('NAME_INVALID', `${showName(stored)} is no text`);
    return stored;
  }
  const name = nameFromBytes(Buffer.from(stored.b64, 'base64'));
  if (!isEscaped(name)) throw new AgentError('TREE_DAMAGED', 'a name is written as bytes although it is UTF-8');
  return name;
}

/** Joins a path and one name. */
export function childPath(parent: RelPath, name: string): RelPath {
  return (parent === '' ? name : `${parent}/${name}`) as RelPath;
}

/** The path of the directory that a path lies in. */
export function parentPath(path: RelPath): RelPath {
  return path.slice(0, Math.max(0, path.lastIndexOf('/'))) as RelPath;
}

/**
 * Checks one name of a tree that may be hostile: no separator, no NUL, not empty, not `.` or `..`, at most 255 bytes.
 * Throws NAME_INVALID.
 */
export function checkName(name: string): string {
  if (name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0'))
    throw new AgentError('NAME_INVALID', `${showName(name)} cannot be a file name`);
  const bytes = nameToBytes(name);
  if (bytes.includes(0x2f) || bytes.includes(0)) throw new AgentError('NAME_INVALID', `${showName(name)} cannot be a file name`);
  if (bytes.length > 255) throw new AgentError('NAME_INVALID', `${showName(name)} is longer than 255 bytes`);
  return name;
}

/** Checks a relative path that a person or a format gave; throws NAME_INVALID. */
export function parseRelPath(text: string): RelPath {
  if (text !== '') for (const name of text.split('/')) checkName(name);
  return text as RelPath;
}

/** What node:fs takes for a path below a directory: a string where it can be one, else bytes. */
export function fsPath(base: string, path: string): string | Buffer {
  if (path === '') return base;
  if (!isEscaped(path)) return `${base}/${path}`;
  const parts: Buffer[] = [Buffer.from(base, 'utf8')];
  for (const name of path.split('/')) parts.push(Buffer.from('/'), nameToBytes(name));
  return Buffer.concat(parts);
}

/** A name or text for a terminal: control characters and bytes that are not UTF-8 are shown, never sent. */
export function showName(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (char) => {
      const unit = char.charCodeAt(0);
      return unit >= 0xdc80 && unit <= 0xdcff ? `\\x${(unit & 0xff).toString(16)}` : `\\u${unit.toString(16).padStart(4, '0')}`;
    },
  );
}
