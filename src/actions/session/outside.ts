import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { FileClass, Profile, ProfileData } from '../../profile/profile.ts';
import { readJson5 } from '../../providers/json5.ts';
import { readToml } from '../../providers/toml.ts';
import { findPaths } from './find-paths.ts';
import type { Ports } from './ports.ts';
import type { Session } from './session.ts';

/** Something that belongs to an agent and lies outside of its root. */
export interface Outside {
  /** Its name as a root of a state: `~/…` or absolute, with a `/` at the end where it is a directory. */
  readonly name: string;
  readonly path: string;
  readonly class: FileClass;
  readonly about: string;
  /** Where it would lie within the root, by which its files are classified; null where all of it is of its class. */
  readonly as: string | null;
  /** Whether it is recorded with the root; credentials, and what belongs to the host, are not. */
  readonly captured: boolean;
}

const STAYS: readonly FileClass[] = ['secret', 'host', 'volatile'];

/** What lies outside of a root and belongs to the agent, as far as the profile and the agent's configuration know; in order of names. */
export async function outsideOf(
  ports: Pick<Ports, 'files' | 'home' | 'hostDirectory'>,
  root: string,
  profile: Profile,
): Promise<readonly Outside[]> {
  const found = new Map<string, Outside>();
  for (const rule of profile.data.outside ?? []) {
    const { class: kind, about, as = null } = rule;
    for (const path of await pathsOf(ports, root, rule)) {
      // What is within the root is captured, whatever leads to it; and nothing that holds the root is.
      if (overlaps(path, root)) continue;
      const stat = look(path);
      if (stat === null) continue;
      const name = `${nameOf(path, ports.home)}${stat.isDirectory() ? '/' : ''}`;
      // A file that is a credential by its own name is one, whatever the config takes it for.
      const isSecret = as === null && stat.isFile() && profile.classify(basename(path)).class === 'secret';
      const captured = !STAYS.includes(kind) && !isSecret && (stat.isDirectory() || stat.isFile()) && !isOfHost(path, ports);
      if (!found.has(name)) found.set(name, { name, path, class: kind, about, as, captured });
    }
  }
  const all = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  // What lies within another one is captured with that.
  return all.filter((one) => !all.some((other) => other !== one && other.captured && one.path.startsWith(`${other.path}/`)));
}

/** What of an account is no agent's, below its home: keys, credentials of other programs, and what runs by itself. */
const OF_ACCOUNT = [
  ...[
    '.ssh',
    '.gnupg',
    '.aws',
    '.azure',
    '.kube',
    '.docker',
    '.password-store',
    '.netrc',
    '.npmrc',
    '.pypirc',
    '.git-credentials',
    '.gitconfig',
  ],
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_history', '.profile', '.zshrc', '.zprofile', '.zshenv', '.zlogin'],
  ...['.config/age', '.config/autostart', '.config/fish', '.config/gh', '.config/perdure', '.config/systemd', '.local/bin', '.Xauthority'],
];
const OF_SYSTEM = ['/proc', '/sys', '/dev', '/etc', '/boot', '/usr', '/bin', '/sbin', '/lib', '/run', '/var/spool', '/root/.ssh'];

/**
 * What belongs to the system or to this account as a whole, by its name or by where its links lead: a config that names it does not make
 * it part of an agent.
 */
function isOfHost(path: string, { home, hostDirectory }: Pick<Ports, 'home' | 'hostDirectory'>): boolean {
  const within = (inner: string, outer: string): boolean => `${inner}/`.startsWith(outer === '/' ? '/' : `${outer}/`);
  const homes = [...new Set([home, realOf(home)])];
  const closed = [...OF_SYSTEM, hostDirectory, ...homes.flatMap((one) => OF_ACCOUNT.map((name) => join(one, name)))];
  const isClosed = (one: string): boolean =>
    closed.some((other) => within(one, other)) || [...homes, hostDirectory].some((other) => within(other, one));
  return isClosed(resolve(path)) || isClosed(realOf(path));
}

/** A path without links, as far as it exists. */
function realOf(path: string): string {
  for (let at = resolve(path), rest = ''; ; rest = join(basename(at), rest), at = dirname(at)) {
    try {
      return join(realpathSync(at), rest);
    } catch {
      if (at === dirname(at)) return resolve(path);
    }
  }
}

/** Whether an agent's files have no business in a place: it is of the host, or within or around the agent's own root. */
export function isClosedTo(path: string, { root, ports }: Pick<Session, 'root' | 'ports'>): boolean {
  return isOfHost(path, ports) || overlaps(path, root) || overlaps(realOf(path), root);
}

/** Whether one of two paths is or holds the other. */
function overlaps(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
}

/** The path within the root that something outside is known by, where its profile's rule says `as`; `.` is the root itself. */
export function pathAs(as: string, path: string): string {
  return as === '.' ? path : `${as}/${path}`;
}

/** Where something outside is staged: beside its place, on the same file system. */
export function stagingBeside(path: string, name: string): string {
  return join(dirname(path), `.perdure-${createHash('sha256').update(name).digest('hex').slice(0, 12)}`);
}

/** What is appended to the name of what came to a place where something else is. */
const CAME = '.perdure-came';

/** Where what comes to a place goes where something else is in it: a name beside it that is free. */
export function besideOf(path: string): string {
  for (let number = 1; ; number++) {
    const name = `${path}${CAME}${number === 1 ? '' : `-${String(number)}`}`;
    if (look(name) === null) return name;
  }
}

/** What came to a place and lies beside it, until a person compares the two. */
export function cameBeside(path: string): readonly string[] {
  try {
    const names = readdirSync(dirname(path)).filter((name) => name.startsWith(`${basename(path)}${CAME}`));
    return names.sort().map((name) => join(dirname(path), name));
  } catch {
    return [];
  }
}

/** What is there; null where there is nothing, or nothing that this account may look at. */
function look(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

/** Where a root of a state that lies outside would lie on a host with this home directory. */
export function placeOfName(name: string, home: string): string {
  const path = name.replace(/\/$/, '');
  return path.startsWith('~/') ? join(home, path.slice(2)) : path;
}

function nameOf(path: string, home: string): string {
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

async function pathsOf(
  { files, home }: Pick<Ports, 'files' | 'home'>,
  root: string,
  { path, from }: NonNullable<ProfileData['outside']>[number],
): Promise<readonly string[]> {
  const absolute = (text: string): string => (text.startsWith('~/') ? join(home, text.slice(2)) : join(root, text));
  if (from !== undefined) {
    const bytes = await files.readIfPresent(join(root, from.file)).catch(() => null);
    const read = from.file.endsWith('.toml') ? readToml : readJson5;
    const texts = bytes === null ? [] : textsAt(await read(bytes.toString('utf8')), from.at.split('.'));
    return texts.map((text) => (text.startsWith('~/') ? absolute(text) : resolve(root, dirname(from.file), text)));
  }
  const glob = absolute(path ?? '');
  // Up to the first name with a wildcard it is a directory.
  let base = dirname(glob);
  while (/[*?[{]/.test(base)) base = dirname(base);
  const found = await findPaths(files, base, { glob: glob.slice(base.length + (base === '/' ? 0 : 1)) });
  return found.map((one) => join(base, one));
}

/** No deeper is looked for what a config names. */
const DEPTH = 64;

/** The strings at a place of a value, or in a list there; `*` is every member, `**` any number of them one in another. */
function textsAt(value: unknown, place: readonly string[], depth = DEPTH): readonly string[] {
  const [name, ...rest] = place;
  if (name === undefined) return (Array.isArray(value) ? value : [value]).filter((one) => typeof one === 'string');
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  if (name === '**') return [...textsAt(value, rest), ...Object.values(value).flatMap((inner) => textsAt(inner, place, depth - 1))];
  return Object.entries(value)
    .filter(([key]) => name === '*' || key === name)
    .flatMap(([, inner]) => textsAt(inner, rest));
}

/** Names of the agents that an instance holds, where it may hold several: they are one here, and move together. */
export async function agentsIn({ files }: Pick<Ports, 'files'>, root: string, { data }: Profile): Promise<readonly string[]> {
  const found: string[] = [];
  for (const glob of data.agents ?? []) for (const path of await findPaths(files, root, { glob })) found.push(basename(path));
  return found.sort();
}
