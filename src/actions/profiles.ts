import { lstatSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { surveyed } from '../capture/survey.ts';
import { AgentError } from '../core/errors.ts';
import { showName } from '../core/name.ts';
import { word } from '../core/shell.ts';
import { BUILT_IN_NAMES, loadProfile } from '../profile/built-in.ts';
import type { FileClass, ProfileData } from '../profile/profile.ts';
import type { Ports } from './session/ports.ts';
import { outsideOf, type Outside } from './session/outside.ts';
import { detectProfile, namedProfile, ownNames, profilePath } from './session/profiles.ts';
import { chooseProfile, readProfile } from './session/root-profile.ts';
import { controlOf, isRoot } from './session/control.ts';

/** A profile that can be named. */
export interface ListedProfile {
  readonly name: string;
  readonly about: string;
  /** The file of a user's own; null for one that comes with the program. */
  readonly file: string | null;
  /** Why a file is none. */
  readonly fault: string | null;
}

/** Lists the profiles that can be named, a user's own first. */
export async function listProfiles(ports: Ports): Promise<readonly ListedProfile[]> {
  const { profileDirectory } = ports;
  const own: ListedProfile[] = [];
  for (const name of await ownNames(ports)) {
    const path = profilePath(profileDirectory, name);
    try {
      own.push({ name, about: (await namedProfile(ports, name)).data.about, file: path, fault: null });
    } catch (error) {
      own.push({ name, about: '', file: path, fault: error instanceof Error ? error.message : String(error) });
    }
  }
  const listed = new Set(own.map(({ name }) => name));
  const rest: ListedProfile[] = [];
  for (const name of BUILT_IN_NAMES)
    if (!listed.has(name)) rest.push({ name, about: (await loadProfile(name)).data.about, file: null, fault: null });
  return [...own, ...rest];
}

/** What a profile says of each path of a directory. */
export interface ProfileTest {
  readonly directory: string;
  readonly profile: string;
  /** The names by which it was found out; empty where it was named, or is the root's. */
  readonly by: readonly string[];
  readonly paths: readonly {
    readonly path: string;
    readonly class: FileClass;
    readonly flags: readonly string[];
    readonly rule: string | null;
  }[];
  readonly classes: Readonly<Record<string, number>>;
  readonly unclassified: readonly string[];
  readonly elsewhere: readonly Outside[];
}

/** Classifies all of a directory, which need not be an agent; reads only the first bytes of files. */
export async function testProfile(
  ports: Ports,
  options: { readonly directory: string; readonly profile: string | undefined },
): Promise<ProfileTest> {
  const { files, cwd } = ports;
  const root = await realpath(resolve(cwd, options.directory)).catch(() => {
    throw new AgentError('FILE_MISSING', `there is no directory '${options.directory}'`);
  });
  if (!lstatSync(root).isDirectory())
    throw new AgentError('FILE_MISSING', `'${options.directory}' is no directory`, { hints: [{ command: 'agent profile test DIR' }] });
  const isAgent = options.profile === undefined && (await isRoot(files, root));
  const detected = options.profile === undefined && !isAgent ? await detectProfile(ports, root) : null;
  const profile =
    detected?.profile ??
    (isAgent
      ? await readProfile({ ports, root, control: await controlOf(files, root) })
      : await chooseProfile(ports, { name: options.profile, directory: root }));
  const paths: ProfileTest['paths'][number][] = [];
  const classes: Record<string, number> = {};
  for (const { path, class: kind, flags, rule, isLeft } of surveyed(root, profile)) {
    paths.push({ path: `${showName(path)}${isLeft === true ? '/' : ''}`, class: kind, flags, rule });
    classes[kind] = (classes[kind] ?? 0) + 1;
  }
  return {
    directory: root,
    profile: profile.data.name,
    by: detected?.by ?? [],
    paths,
    classes,
    unclassified: paths.filter(({ flags }) => flags.includes('unclassified')).map(({ path }) => path),
    elsewhere: await outsideOf(ports, root, profile),
  };
}

/** Writes a profile of a user's own, to be edited; throws PROFILE_EXISTS. */
export async function newProfile(
  ports: Ports,
  { name, base }: { readonly name: string; readonly base: string | undefined },
): Promise<{ readonly path: string }> {
  const { files, profileDirectory } = ports;
  if (!/^[a-z][a-z0-9-]*$/.test(name))
    throw new AgentError('USAGE_WRONG', `'${name}' is no name of a profile: small letters, digits and dashes`, {
      hints: [{ command: 'agent profile new my-agent' }],
    });
  // One of the name of the program's goes on from that, and is taken in its place.
  const { data } = await namedProfile(ports, base ?? (BUILT_IN_NAMES.includes(name) ? name : 'generic'));
  const path = profilePath(profileDirectory, name);
  const example: Pick<ProfileData, 'format' | 'name' | 'about' | 'rules'> & { readonly extends: string } = {
    format: 'perdure-profile/1',
    name,
    extends: data.name,
    about: `${data.name}, with rules of my own`,
    rules: [{ match: 'scratch/**', class: 'volatile' }],
  };
  if (!(await files.create(path, `${JSON.stringify(example, null, 2)}\n`, { mode: 0o644 })))
    throw new AgentError('PROFILE_EXISTS', `'${path}' exists; it was left as it is`, {
      hints: [{ command: `ls -l ${word(path)}`, effect: 'edit it, or take another name' }],
    });
  return { path };
}
