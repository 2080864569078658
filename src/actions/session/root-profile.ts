import { join, resolve } from 'node:path';
import { canonical, parseJson, type Json } from '../../core/canonical.ts';
import { AgentError } from '../../core/errors.ts';
import type { Files } from '../../core/files.ts';
import type { Facts } from '../../manifest/facts.ts';
import { loadProfile } from '../../profile/built-in.ts';
import { compileProfile, type Profile } from '../../profile/profile.ts';
import { detectProfile, namedProfile, ownProfile, type ProfilePlaces } from './profiles.ts';

interface Place {
  readonly ports: ProfilePlaces;
  readonly control: string;
  readonly root: string;
}

/** The profile of a root: the one noted in it (which never travels by itself), else the one whose layout it has. */
export async function readProfile({ ports, control, root }: Place): Promise<Profile> {
  const value = parseJson((await ports.files.readIfPresent(notePath(control)))?.toString('utf8') ?? '');
  if (typeof value === 'object' && value !== null && 'profile' in value)
    return typeof value.profile === 'string' ? loadProfile(value.profile) : compileProfile(value.profile);
  return (await detectProfile(ports, root)).profile;
}

/** Notes the profile of a root: its name where the program has it, else all of it. */
export async function noteProfile(files: Files, control: string, { data, isOwn }: Profile): Promise<void> {
  await files.replace(notePath(control), `${canonical({ profile: isOwn ? (data as unknown as Json) : data.name })}\n`);
}

/** The profile by which a state was recorded. One of its own travels with the state; its commands run only where allowed. */
export async function profileOfFacts({ profile }: Facts): Promise<Profile> {
  // One of the program's own, maybe recorded by another version of it, whose profile of this name was another.
  if (profile.data === undefined) return loadProfile(profile.name);
  const own = compileProfile(profile.data);
  if (own.digest !== profile.digest)
    throw new AgentError('MANIFEST_DAMAGED', `the profile '${own.data.name}' of this state is not the one that it names`);
  return own;
}

/** How facts name a profile. */
export function factsOfProfile({ data, digest, isOwn }: Profile): Facts['profile'] {
  return { name: data.name, digest, ...(isOwn ? { data: data as unknown as Json } : {}) };
}

/** The profile that a person names: a user's own, one of the program's, or a file (`x.json`, or with a `/`); throws PROFILE_UNKNOWN. */
export async function chooseProfile(
  ports: ProfilePlaces & { readonly cwd: string },
  { name, directory }: { readonly name: string | undefined; readonly directory: string },
): Promise<Profile> {
  if (name === undefined) return (await detectProfile(ports, directory)).profile;
  return name.includes('/') || name.endsWith('.json') ? ownProfile(ports, resolve(ports.cwd, name)) : namedProfile(ports, name);
}

function notePath(control: string): string {
  return join(control, 'local', 'profile');
}
