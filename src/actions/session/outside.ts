import { basename, dirname, join } from 'node:path';
import type { FileClass, Profile } from '../../profile/profile.ts';
import { findPaths } from './find-paths.ts';
import type { Ports } from './ports.ts';

/** Something that belongs to an agent and lies outside of its root: it is not captured. */
export interface Outside {
  readonly path: string;
  readonly class: FileClass;
  readonly about: string;
}

/** What lies outside of a root and belongs to the agent, as far as the profile knows. */
export async function outsideOf(
  { files, home }: Pick<Ports, 'files' | 'home'>,
  root: string,
  { data }: Profile,
): Promise<readonly Outside[]> {
  const found: Outside[] = [];
  for (const { path, class: kind, about } of data.outside ?? []) {
    const glob = path.startsWith('~/') ? join(home, path.slice(2)) : join(root, path);
    // Up to the first name with a wildcard it is a directory.
    let base = glob;
    while (/[*?[{]/.test(base)) base = dirname(base);
    if (base === glob) base = dirname(base);
    for (const one of await findPaths(files, base, { glob: glob.slice(base.length + (base === '/' ? 0 : 1)) })) {
      const at = join(base, one);
      // What is within the root is captured, whatever leads to it.
      if (at !== root && !at.startsWith(`${root}/`)) found.push({ path: at, class: kind, about });
    }
  }
  return found;
}

/** Names of the agents that an instance holds, where it may hold several: they are one here, and move together. */
export async function agentsIn({ files }: Pick<Ports, 'files'>, root: string, { data }: Profile): Promise<readonly string[]> {
  const found: string[] = [];
  for (const glob of data.agents ?? []) for (const path of await findPaths(files, root, { glob })) found.push(basename(path));
  return found.sort();
}
