import { mkdir, rename, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AgentError } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import { syncTree } from '../install/durable.ts';
import { finishRoot, stageTree } from '../install/stage.ts';
import { selectTree } from '../manifest/select.ts';
import { refuseInside } from './bundle/bundle-target.ts';
import { progressOf } from './session/progress.ts';
import type { Ports } from './session/ports.ts';
import { learned, openForReading } from './state/read-state.ts';
import type { RestoreOptions } from './restore.ts';
import { isWithin, nameOf, partsOf } from './restoring/parts.ts';
import { treeOf } from './state/staged.ts';
import { findState } from './state/revision.ts';
import { openSession } from './session/session.ts';
import { refuseShort } from './bundle/target.ts';

/** Writes a recorded state, or paths of it, into a new directory: files alone, no agent. Changes nothing of the agent. */
export async function restoreTo(
  ports: Ports,
  { revision, paths, directory }: RestoreOptions & { readonly directory: string },
): Promise<{
  readonly name: string;
  readonly seq: number;
  readonly path: string;
  readonly files: number;
  /** Whether no key opens its secrets, which are then not among the files. */
  readonly secretsSealed: boolean;
}> {
  const session = await openSession(ports);
  const chosen = findState(session, revision);
  const state = await learned(await openForReading(session, chosen.manifest));
  const named = paths.map((path) => nameOf(session, path, [state]));
  if (new Set(named.map((one) => one.root)).size > 1)
    throw new AgentError('USAGE_WRONG', 'paths within the root and outside of it cannot go into one directory', {
      hints: [{ command: 'agent restore REV PATH --to DIR', effect: 'once for each of the places; nothing was changed' }],
    });
  // Without paths it is the root, which is the first.
  const [part] = await partsOf(session, { target: state, head: state }, { named, seq: chosen.seq });
  if (part === undefined) throw new AgentError('INTERNAL', 'a state has no tree');
  const target = resolve(ports.cwd, directory);
  await refuseInside(session, target);
  if (
    (await ports.files.exists(target)) &&
    !((await stat(target).catch(() => null))?.isDirectory() === true && (await ports.files.list(target)).length === 0)
  )
    throw new AgentError('TARGET_OCCUPIED', `'${directory}' is no empty directory`, {
      hints: [
        {
          command: `agent restore ${[revision, ...paths].map(word).join(' ')} --to ${word(`${target}.new`)}`,
          effect: 'a directory that does not exist yet; nothing was changed',
        },
      ],
    });
  let files = 0;
  let bytes = 0n;
  const side = await selectTree(part.target, (path, entry) => {
    const take = isWithin(path, part.within);
    if (take) files++;
    if (take && entry.type === 'file') bytes += BigInt(entry.size);
    return take;
  });
  await refuseShort(target, bytes);
  const staging = join(dirname(target), `.${basename(target)}.perdure-staging`);
  const tree = treeOf(state, side, part.root);
  await ports.files.makeDirectory(dirname(target));
  await ports.files.removeTree(staging);
  await mkdir(staging, { mode: 0o700 });
  try {
    await stageTree(tree, staging, { onFiles: progressOf(ports, 'restore') });
    if (!part.isFile) finishRoot(staging, tree.root);
    await syncTree(staging);
    await rename(staging, target);
  } catch (error) {
    await ports.files.removeTree(staging);
    throw error;
  }
  await ports.files.syncDirectory(dirname(target));
  return {
    name: session.name,
    seq: chosen.seq,
    path: target,
    files,
    secretsSealed: state.secretsSealed,
  };
}
