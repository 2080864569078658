import { join } from 'node:path';
import { canonical, parseJson } from '../core/canonical.ts';
import type { Files } from '../core/files.ts';

/** What a root says for itself; it never travels. */
export interface Settings {
  readonly profile: string;
}

/** Reads the settings of a root. */
export async function readSettings({
  ports,
  control,
  root,
}: {
  readonly ports: { readonly files: Files };
  readonly control: string;
  readonly root: string;
}): Promise<Settings> {
  const value = parseJson((await ports.files.readIfPresent(settingsPath(control)))?.toString('utf8') ?? '');
  if (typeof value === 'object' && value !== null && 'profile' in value && typeof value.profile === 'string')
    return { profile: value.profile };
  return { profile: await detectProfile(ports.files, root) };
}

/** Writes the settings of a root. */
export async function writeSettings(files: Files, control: string, { profile }: Settings): Promise<void> {
  await files.replace(settingsPath(control), `${canonical({ profile })}\n`);
}

/** The profile whose layout a directory has. */
export async function detectProfile(files: Files, root: string): Promise<string> {
  return (await files.exists(join(root, 'private'))) && (await files.exists(join(root, 'body'))) ? 'native' : 'generic';
}

function settingsPath(control: string): string {
  return join(control, 'local', 'profile');
}
