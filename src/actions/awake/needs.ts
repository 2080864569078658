import { closeSync, existsSync, fstatSync } from 'node:fs';
import { join } from 'node:path';
import { openPlain } from '../../capture/lane/pieces.ts';
import { fill } from '../../core/bytes.ts';
import { parseJson } from '../../core/canonical.ts';
import { fsPath, parseRelPath, type RelPath } from '../../core/name.ts';
import { walkTree } from '../../manifest/tree.ts';
import { compileGlob } from '../../profile/glob.ts';
import type { Profile, ProfileData, Requirement } from '../../profile/profile.ts';
import { readJson5 } from '../../providers/json5.ts';
import { isOnPath, runCommand } from '../../providers/commands.ts';
import type { Ports } from '../session/ports.ts';
import type { CheckLine } from '../state/check-lines.ts';
import { sideOf, type OpenState } from '../state/open-state.ts';
import { isInKeychain } from './keychain.ts';

/** Something that an agent finds on its host and does not bring. */
export interface Need {
  readonly kind: 'program' | 'variable' | 'keychain item' | 'login';
  readonly name: string;
  /** Null where it was not looked, since this host did not allow the profile's commands. */
  readonly met: boolean | null;
  /** What is wrong, or what was not looked at; empty where it is met. */
  readonly text: string;
}

/** Where it is looked. */
export interface NeedsAsked {
  readonly ports: Pick<Ports, 'environment'>;
  readonly root: string;
  readonly profile: Profile;
  readonly state: OpenState;
  /** Whether programs that the profile names may be run. */
  readonly mayRun: boolean;
}

const LIMIT = 30_000;
/** A version or a variable stands in the beginning of a file. */
const READ = 1024 * 1024;
/** No more variables are looked for. */
const MOST_NAMES = 200;
/** No more of a line that sets a variable is looked at. */
const LINE = 10_000;

/** What an agent needs of its host, and whether it is here: programs of at least the version that wrote its state, variables, keychain items, logins. */
export async function needsOf(asked: NeedsAsked): Promise<readonly Need[]> {
  const needs: Need[] = [];
  for (const one of asked.profile.data.requires) {
    if ('tool' in one) needs.push(await program(asked, one));
    else if ('variables' in one) needs.push(...variables(asked, one));
    else if ('keychain' in one) needs.push(await keychainItem(asked, one));
    else needs.push(...(await login(asked, one)));
  }
  return needs;
}

type Of<Key extends string> = Extract<Requirement, Readonly<Record<Key, unknown>>>;

async function program(asked: NeedsAsked, { tool, version }: Of<'tool'>): Promise<Need> {
  const need = { kind: 'program', name: tool } as const;
  if (!isOnPath(tool, asked.ports.environment['PATH'])) return { ...need, met: false, text: 'not on PATH' };
  const least = typeof version === 'object' ? await versionIn(asked, version) : version;
  if (least === undefined) return { ...need, met: true, text: '' };
  if (!asked.mayRun) return { ...need, met: null, text: `not asked whether it is ${least} or newer` };
  const { status, output } = await runCommand([tool, '--version'], { cwd: asked.root, limit: LIMIT, env: asked.ports.environment });
  const here = status === 0 ? VERSION.exec(output.slice(0, 1000))?.[0] : undefined;
  if (here === undefined) return { ...need, met: false, text: `does not say its version; ${least} wrote this state` };
  return isOlder(here, least)
    ? { ...need, met: false, text: `${here}, and ${least} wrote this state: an older one may not read it` }
    : { ...need, met: true, text: '' };
}

const VERSION = /\d{1,9}(?:\.\d{1,9}){1,5}/;
/** A version is no longer, and stands no deeper in a document. */
const LONGEST = 100;
const DEPTH = 3;

function isOlder(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => text.split('.').map(Number));
  for (const [at, number] of (b ?? []).entries()) if (a?.[at] !== number) return (a?.[at] ?? 0) < number;
  return false;
}

/** The version that the newest file of some says it was written by. */
async function versionIn(
  { root, state }: NeedsAsked,
  { match, key }: { readonly match: string; readonly key: string },
): Promise<string | undefined> {
  const pattern = compileGlob(match);
  let newest: { readonly path: RelPath; readonly mtime: bigint } | null = null;
  for await (const { path, entry } of walkTree(sideOf(state).pages, sideOf(state).get)) {
    if (entry.type !== 'file' || !pattern.test(path)) continue;
    const mtime = BigInt(entry.mtime);
    if (newest === null || mtime > newest.mtime) newest = { path, mtime };
  }
  if (newest === null) return undefined;
  const value = (await documentsOf(root, newest.path)).map((one) => memberOf(one, key)).findLast((one) => one !== undefined);
  return value === undefined ? undefined : VERSION.exec(value.slice(0, LONGEST))?.[0];
}

/** What a file of JSON holds: the file, or each of its lines that are in its beginning or at its end. */
async function documentsOf(root: string, path: RelPath): Promise<readonly unknown[]> {
  if (!path.endsWith('.jsonl')) return [await readJson5(textOf(root, path))];
  return [...textOf(root, path).split('\n'), ...textOf(root, path, { end: true }).split('\n')].map(parseJson);
}

/** A string of this name in a document, or in what is in it, a few levels deep. */
function memberOf(value: unknown, key: string, depth = DEPTH): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || depth === 0) return undefined;
  for (const [name, inner] of Object.entries(value)) {
    const found = name === key && typeof inner === 'string' ? inner : memberOf(inner, key, depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Variables that the agent's own configuration names, where neither this environment nor a file of variables has them. */
function variables(
  { root, ports: { environment } }: NeedsAsked,
  { variables: { file, keys = [], braces }, or = [] }: Of<'variables'>,
): readonly Need[] {
  const text = textOf(root, file);
  const named = keys.flatMap((key) => [...text.matchAll(new RegExp(`\\b${escaped(key)}["']?\\s*[:=]\\s*["']([A-Za-z_]\\w*)["']`, 'g'))]);
  const inBraces = braces === true ? [...text.matchAll(/(?<!\$)\$\{([A-Za-z_]\w*)\}/g)] : [];
  const set = new Set(or.flatMap((one) => variablesIn(textOf(root, one))));
  const names = [...new Set([...named, ...inBraces].map(([, name = '']) => name))].sort();
  return names.slice(0, MOST_NAMES).map((name) => {
    const met = (environment[name] ?? '') !== '' || set.has(name);
    const places = ['this environment', ...or].join(' or ');
    return { kind: 'variable', name, met, text: met ? '' : `${file} names it, and it is not in ${places}` };
  });
}

/** An item of the keychain of macOS, in place of which there may be files of the agent or variables (`$NAME`). */
async function keychainItem({ root, ports }: NeedsAsked, { keychain, or = [] }: Of<'keychain'>): Promise<Need> {
  const need = { kind: 'keychain item', name: keychain } as const;
  const isHere = or.some((one) => (one.startsWith('$') ? (ports.environment[one.slice(1)] ?? '') !== '' : existsSync(join(root, one))));
  if (isHere || (await isInKeychain(ports, keychain))) return { ...need, met: true, text: '' };
  return { ...need, met: false, text: `neither in a keychain here, nor is there ${or.join(' or ')}: log in again` };
}

/** What is not met, in one line. */
export function needsLine(needs: readonly Need[]): CheckLine {
  const unmet = needs.filter(({ met }) => met === false);
  const unasked = needs.filter(({ met }) => met === null);
  const met = needs.filter((one) => one.met === true).map((one) => one.name);
  const said = [...unmet, ...unasked].map(needText).join('; ');
  return { name: 'needs', ok: unmet.length === 0, text: said === '' ? (met.length === 0 ? 'nothing' : `${met.join(', ')}: here`) : said };
}

/** What one need is, for a person. */
export function needText({ kind, name, text }: Need): string {
  return `${kind} '${name}': ${text}`;
}

/** The commands that are run to find out what is met. */
export function askingCommands({ requires }: ProfileData): readonly (readonly string[])[] {
  return requires.flatMap((one) =>
    'login' in one ? [one.login] : 'tool' in one && one.version !== undefined ? [[one.tool, '--version']] : [],
  );
}

async function login({ ports, root, state, mayRun }: NeedsAsked, { login: argv, when }: Of<'login'>): Promise<readonly Need[]> {
  const missing = state.facts.findings.some((one) => one.code === 'SECRET_MISSING' && one.subject === when);
  if (when !== undefined && !missing && !existsSync(join(root, when))) return [];
  const need = { kind: 'login', name: argv.join(' ') } as const;
  if (!mayRun) return [{ ...need, met: null, text: 'not asked' }];
  const { status, output } = await runCommand(argv, { cwd: root, limit: LIMIT, env: ports.environment });
  const [line = ''] = output.trim().split('\n').slice(-1);
  return [{ ...need, met: status === 0, text: status === 0 ? '' : `not logged in${line === '' ? '' : `: ${line.slice(0, 100)}`}` }];
}

/** The variables that a file of them sets to something. */
function variablesIn(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*\S/.exec(line.slice(0, LINE))?.[1] ?? []);
}

/** The text at the beginning of a file of the agent, or at its end; empty where it cannot be read. */
function textOf(root: string, path: string, { end = false }: { readonly end?: boolean } = {}): string {
  try {
    const fd = openPlain(fsPath(root, parseRelPath(path)));
    try {
      const from = end ? Math.max(0, fstatSync(fd).size - READ) : 0;
      return fill(fd, Buffer.alloc(READ), from).toString('utf8');
    } finally {
      closeSync(fd);
    }
  } catch {
    return '';
  }
}

function escaped(text: string): string {
  return text.replace(/[^A-Za-z0-9_]/g, '\\$&');
}
