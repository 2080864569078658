import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { finishRoot, stageTree } from '../../install/stage.ts';
import { syncTree } from '../../install/durable.ts';
import type { PathMap } from '../../install/relocate/path-map.ts';
import { rewriteFile } from '../../install/relocate/rewrite-file.ts';
import type { Facts } from '../../manifest/facts.ts';
import type { Profile } from '../../profile/profile.ts';
import { placeOfName } from '../session/outside.ts';
import type { OpenState } from '../state/open-state.ts';

/** Something that lies outside of the root, where it was put; `beside` where something else was in its place. */
export interface PlacedOutside {
  readonly name: string;
  readonly path: string;
  readonly how: 'placed' | 'same' | 'beside';
}

/** What is appended to the name of what came, where something else is in its place. */
const CAME = '.perdure-came';

/** What lies outside of the root of a state, and where it belongs here. */
export function outsidePlaces(
  facts: Facts,
  { home, map }: { readonly home: string; readonly map: PathMap },
): readonly { readonly root: Facts['roots'][number]; readonly path: string }[] {
  return facts.roots
    .filter((one) => one.name !== 'main')
    .map((root) => {
      const path = placeOfName(root.name, home);
      return { root, path: root.name.startsWith('~/') ? path : (map.place(path) ?? path) };
    });
}

/**
 * Puts what lies outside of the root in place: where nothing is there by a rename, and beside it where something else is, which is never
 * written over. Can be done again.
 */
export async function placeOutside(
  state: OpenState,
  profile: Profile,
  { home, map }: { readonly home: string; readonly map: PathMap },
): Promise<readonly PlacedOutside[]> {
  const placed: PlacedOutside[] = [];
  for (const { root, path } of outsidePlaces(state.facts, { home, map })) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const staging = join(dirname(path), `.perdure-${createHash('sha256').update(root.name).digest('hex').slice(0, 12)}`);
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { mode: 0o700 });
    try {
      const isDirectory = root.name.endsWith('/');
      const tree = {
        root,
        get: (digest: Parameters<typeof state.objects.main.chunk>[0]) => state.objects.main.chunk(digest),
        secrets: null,
      };
      await stageTree(tree, staging, { finished: true });
      const from = isDirectory ? staging : join(staging, readdirSync(staging)[0] ?? '');
      rewriteOutside(from, root.name, { profile, map });
      if (isDirectory) finishRoot(staging, root);
      await syncTree(staging);
      placed.push(put(from, path, root.name));
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  }
  return placed;
}

/** Rewrites what the profile names by the place where it lies: `relocate` rules that begin as its name does. */
function rewriteOutside(from: string, name: string, { profile, map }: { readonly profile: Profile; readonly map: PathMap }): void {
  for (const rule of profile.data.relocate ?? [])
    if (!map.isEmpty && rule.match === name && (rule.as === 'json' || rule.as === 'text'))
      rewriteFile(from, rule.as === 'json' ? { as: 'json', keys: rule.keys ?? null, except: rule.except } : { as: 'text' }, map);
}

function put(from: string, path: string, name: string): PlacedOutside {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) {
    renameSync(from, path);
    return { name, path, how: 'placed' };
  }
  if (isSame(from, path)) return { name, path, how: 'same' };
  const beside = `${path}${CAME}`;
  rmSync(beside, { recursive: true, force: true });
  renameSync(from, beside);
  return { name, path: beside, how: 'beside' };
}

/** Whether two files or directories hold the same names and bytes. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [lstatSync(one), lstatSync(other)];
  if (a.isDirectory() && b.isDirectory()) {
    const names = readdirSync(one).sort();
    return names.join('/') === readdirSync(other).sort().join('/') && names.every((name) => isSame(join(one, name), join(other, name)));
  }
  if (a.isSymbolicLink() && b.isSymbolicLink()) return readlinkSync(one) === readlinkSync(other);
  return a.isFile() && b.isFile() && a.size === b.size && readFileSync(one).equals(readFileSync(other));
}
