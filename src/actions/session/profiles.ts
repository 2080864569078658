import { join } from 'node:path';
import { parseJson } from '../../core/canonical.ts';
import { AgentError } from '../../core/errors.ts';
import type { Files } from '../../core/files.ts';
import { BUILT_IN_NAMES, loadProfile } from '../../profile/built-in.ts';
import { findPaths } from './find-paths.ts';
import { baseOf, compileProfile, extendProfile, type Profile } from '../../profile/profile.ts';

/** Where profiles are. */
export interface ProfilePlaces {
  readonly files: Files;
  /** The directory of a user's own. */
  readonly profileDirectory: string;
}

/** So many profiles may go on from each other. */
const DEPTH = 8;

/** The path of a user's own profile. */
export function profilePath(directory: string, name: string): string {
  return join(directory, `${name}.json`);
}

/** A profile by its name: a user's own before one of the program's; throws PROFILE_UNKNOWN. */
export async function namedProfile(places: ProfilePlaces, name: string, depth = 0): Promise<Profile> {
  const path = profilePath(places.profileDirectory, name);
  // A name is a file's only where it is one that a profile may have.
  const isOwn = /^[a-z][a-z0-9-]*$/.test(name) && (await places.files.exists(path).catch(() => false));
  return isOwn ? ownProfile(places, path, depth) : loadProfile(name);
}

/** A profile of a user's own in a file; throws PROFILE_UNKNOWN. */
export async function ownProfile(places: ProfilePlaces, path: string, depth = 0): Promise<Profile> {
  const bytes = await places.files.readIfPresent(path);
  if (bytes === null)
    throw new AgentError('PROFILE_UNKNOWN', `there is no profile file '${path}'`, { hints: [{ command: 'agent profile list' }] });
  const value = parseJson(bytes.toString('utf8'));
  const base = ((): string | null => {
    try {
      return baseOf(value);
    } catch (error) {
      throw explained(error, path);
    }
  })();
  if (depth > DEPTH)
    throw new AgentError('PROFILE_UNKNOWN', `the profile '${path}' goes on from itself`, { hints: [{ command: 'agent profile list' }] });
  try {
    if (base === null) return compileProfile(value);
    // One that has the name of the profile that it goes on from means that of the program.
    const isSame = profilePath(places.profileDirectory, base) === path;
    const from = isSame ? await loadProfile(base) : await namedProfile(places, base, depth + 1);
    return compileProfile(extendProfile(value, from.data));
  } catch (error) {
    throw explained(error, path);
  }
}

function explained(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error.message.includes(path)) return error;
  return new AgentError('PROFILE_UNKNOWN', `'${path}': ${error.message}`, {
    cause: error,
    hints: [{ command: 'agent profile new NAME', effect: 'writes one that is right, to go on from' }],
  });
}

/** The profile whose layout a directory has, a user's own in place of one of the program's that has its name, and by which names; `generic` where it has none. */
export async function detectProfile(
  places: ProfilePlaces,
  directory: string,
): Promise<{ readonly profile: Profile; readonly by: readonly string[] }> {
  let best: { readonly profile: Profile; readonly by: readonly string[] } | null = null;
  const own = await ownNames(places);
  for (const name of BUILT_IN_NAMES) {
    // One of a user's own that is none is not taken; profile list tells why.
    const profile = own.includes(name) ? await namedProfile(places, name).catch(() => null) : await loadProfile(name);
    if (profile === null) continue;
    for (const layout of profile.data.detect ?? []) {
      if (best !== null && layout.length <= best.by.length) continue;
      if (await hasAll(places.files, directory, layout)) best = { profile, by: layout };
    }
  }
  return best ?? { profile: await loadProfile('generic'), by: [] };
}

async function hasAll(files: Files, directory: string, layout: readonly string[]): Promise<boolean> {
  for (const glob of layout) if ((await findPaths(files, directory, { glob, most: 1 })).length === 0) return false;
  return true;
}

/** Names of a user's own profiles, sorted; none where their directory may not be looked into. */
export async function ownNames({ files, profileDirectory }: ProfilePlaces): Promise<readonly string[]> {
  const names = await files.list(profileDirectory).catch(() => []);
  return names.flatMap((file) => /^([a-z][a-z0-9-]*)\.json$/.exec(file)?.slice(1) ?? []);
}
