import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import type * as Git from 'isomorphic-git';
import type { PromiseFsClient } from 'isomorphic-git';

/** What a body's version control says of it. */
export interface BodyRevision {
  readonly revision: string | null;
  readonly dirty: boolean;
  readonly remote: string | null;
}

/**
 * Reads a Git work tree without running Git: no hook, filter, fsmonitor or diff program that the repository names is
 * started, and nothing in it is written. Null where the directory is no work tree; `revision` is null before the first commit.
 */
export async function readGit(directory: string): Promise<BodyRevision | null> {
  if (!nodeFs.existsSync(join(directory, '.git'))) return null;
  const module = await import('isomorphic-git');
  // Inside a bundle only the default export is there.
  const git = 'resolveRef' in module ? module : (module as { default: typeof Git }).default;
  const at = { fs: nodeFs, dir: directory };
  const revision = await git.resolveRef({ ...at, ref: 'HEAD' }).catch(() => null);
  const remotes = await git.listRemotes(at).catch(() => []);
  const remote = remotes.find((one) => one.remote === 'origin') ?? remotes[0];
  return {
    revision,
    dirty: revision === null || (await isDirty(git, at)),
    remote: remote === undefined ? null : remote.url.replace(/^([a-z+]+:\/\/)[^@/]*@/, '$1'),
  };
}

async function isDirty(git: typeof Git, at: { readonly fs: typeof nodeFs; readonly dir: string }): Promise<boolean> {
  const rows = await git.statusMatrix({ ...at, fs: readOnly(at.fs) }).catch(() => null);
  return rows?.some(([, head, work, stage]) => head !== 1 || work !== 1 || stage !== 1) ?? true;
}

/** The library refreshes the index when it reads the status; a reader writes nothing. */
function readOnly(fs: typeof nodeFs): PromiseFsClient {
  const refuse = (): Promise<void> => Promise.resolve();
  return { promises: { ...fs.promises, writeFile: refuse, mkdir: refuse, rmdir: refuse, unlink: refuse, symlink: refuse } };
}
