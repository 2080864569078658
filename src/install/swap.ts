import { basename, dirname, join } from 'node:path';
import { canonical, parseJson } from '../core/canonical.ts';
import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';

/** The siblings of a root that a swap uses; none is left when it is done. */
export interface SwapPaths {
  readonly target: string;
  readonly staging: string;
  readonly old: string;
  readonly journal: string;
}

/** Names the siblings of a target. They lie on the same file system, so that a rename is one step. */
export function swapPaths(target: string): SwapPaths {
  const beside = (what: string): string => join(dirname(target), `.${basename(target)}.perdure-${what}`);
  return { target, staging: beside('staging'), old: beside('old'), journal: beside('journal') };
}

/** Where the old tree lies within the new one until the owner removes it. */
const OLD_TREE = join('.perdure', 'local', 'old');

/**
 * Puts the staged tree in the target's place: journal, old tree aside, new tree in, old tree into the new one's control
 * directory, journal away. `finish` runs last and gives the root its own time again.
 */
export async function swapIn(files: Files, paths: SwapPaths, finish: () => void): Promise<void> {
  await files.replace(paths.journal, canonical({ format: 'perdure-swap/1' }));
  await goOn(files, paths, finish);
}

/**
 * Goes on with a swap that was interrupted, or clears what an interrupted staging left. Returns whether a swap was
 * finished, so that the target is the new tree.
 */
export async function recoverSwap(files: Files, paths: SwapPaths, finish: () => void = () => undefined): Promise<boolean> {
  // A journal that a crash left half-written.
  await files.sweep(dirname(paths.journal), Number.POSITIVE_INFINITY, basename(paths.journal));
  const journal = await files.readIfPresent(paths.journal);
  if (journal === null) {
    await files.removeTree(paths.staging);
    return false;
  }
  const value = parseJson(journal.toString('utf8'));
  if (typeof value !== 'object' || value === null || !('format' in value) || value.format !== 'perdure-swap/1')
    throw new AgentError('TREE_DAMAGED', `'${paths.journal}' is not a journal of this program`);
  await goOn(files, paths, finish);
  return true;
}

async function goOn(files: Files, paths: SwapPaths, finish: () => void): Promise<void> {
  if (await files.exists(paths.staging)) {
    if ((await files.exists(paths.target)) && !(await files.exists(paths.old))) await files.rename(paths.target, paths.old);
    await files.rename(paths.staging, paths.target);
  }
  if (await files.exists(paths.old)) {
    const keep = join(paths.target, OLD_TREE);
    await files.removeTree(keep);
    if ((await files.list(paths.old)).length === 0) await files.removeTree(paths.old);
    else {
      await files.makeDirectory(dirname(keep));
      await files.rename(paths.old, keep);
    }
  }
  finish();
  await files.remove(paths.journal);
  await files.syncDirectory(dirname(paths.target));
}
