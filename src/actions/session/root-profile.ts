import { join, resolve } from 'node:path';
import { canonical, parseJson, type Json } from '../../core/canonical.ts';
import { AgentError } from '../../core/errors.ts';
import type { Files } from '../../core/files.ts';
import type { Facts } from '../../manifest/facts.ts';
import { builtInProfile, compileProfile, loadProfile, type Profile } from '../../profile/profile.ts';

interface Place {
  readonly ports: { readonly files: Files };
  readonly control: string;
  readonly root: string;
}

/** The profile of a root: the one noted in it (which never travels by itself), else the one whose layout it has. */
export async function readProfile({ ports, control, root }: Place): Promise<Profile> {
  const value = parseJson((await ports.files.readIfPresent(notePath(control)))?.toString('utf8') ?? '');
  if (typeof value === 'object' && value !== null && 'profile' in value)
    return typeof value.profile === 'string' ? loadProfile(value.profile) : compileProfile(value.profile);
  return loadProfile(await detectProfile(ports.files, root));
}

/** Notes the profile of a root: its name where the program has it, else all of it. */
export async function noteProfile(files: Files, control: string, profile: Profile): Promise<void> {
  const own = builtInProfile(profile.digest) === null;
  await files.replace(notePath(control), `${canonical({ profile: own ? (profile.data as unknown as Json) : profile.data.name })}\n`);
}

/** The profile by which a state was recorded. One of its own travels with the state; its commands run only where allowed. */
export function profileOfFacts({ profile }: Facts): Profile {
  const known = builtInProfile(profile.digest);
  if (known !== null) return known;
  // Recorded by another version of the program, whose profile of this name was another.
  if (profile.data === undefined) return loadProfile(profile.name);
  const own = compileProfile(profile.data);
  if (own.digest !== profile.digest)
    throw new AgentError('MANIFEST_DAMAGED', `the profile '${own.data.name}' of this state is not the one that it names`);
  return own;
}

/** How facts name a profile. */
export function factsOfProfile({ data, digest }: Profile): Facts['profile'] {
  return { name: data.name, digest, ...(builtInProfile(digest) === null ? { data: data as unknown as Json } : {}) };
}

/** The profile that a person names: one of the program's, or a file (`x.json`, or with a `/`); throws PROFILE_UNKNOWN. */
export async function chooseProfile(
  files: Files,
  { name, cwd, directory }: { readonly name: string | undefined; readonly cwd: string; readonly directory: string },
): Promise<Profile> {
  if (name === undefined) return loadProfile(await detectProfile(files, directory));
  if (!name.includes('/') && !name.endsWith('.json')) return loadProfile(name);
  const bytes = await files.readIfPresent(resolve(cwd, name));
  if (bytes === null)
    throw new AgentError('PROFILE_UNKNOWN', `there is no profile file '${name}'`, { hints: [{ command: 'agent init --profile generic' }] });
  return compileProfile(parseJson(bytes.toString('utf8')));
}

async function detectProfile(files: Files, root: string): Promise<string> {
  return (await files.exists(join(root, 'private'))) && (await files.exists(join(root, 'body'))) ? 'native' : 'generic';
}

function notePath(control: string): string {
  return join(control, 'local', 'profile');
}
