import { lstatSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import { ROOT_PATH, fsPath, parentPath, showName } from '../../core/name.ts';
import { word } from '../../core/shell.ts';
import { applyTree, findObstacle, refuseChanged, type Application } from '../../install/apply.ts';
import { finishRoot, stageTree } from '../../install/stage.ts';
import type { Change } from '../../manifest/compare.ts';
import type { Entry } from '../../manifest/entry.ts';
import { selectTree } from '../../manifest/select.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import { findEntry, walkTree } from '../../manifest/tree.ts';
import { progressOf } from '../session/progress.ts';
import type { HostSession } from '../session/session.ts';
import type { OpenState } from '../state/open-state.ts';
import { treeOf } from '../state/staged.ts';
import { isWithin, type Part } from './parts.ts';

/** A tree of a state, and what of it goes back. */
export interface WantedPart extends Part {
  readonly wanted: readonly Change[];
}

/** What is to be put in and taken out; throws TARGET_OCCUPIED where something that no state has is in the way. */
export async function applicationOf(
  { name }: Pick<HostSession, 'name'>,
  { target, wanted, within, place, staging, shown }: WantedPart,
): Promise<Application> {
  const removed = wanted.filter((one) => one.kind === 'removed').map((one) => one.path);
  const paths = new Set<string>(wanted.map((one) => one.path));
  // A directory whose content changed gets its own time back, too.
  const touched = new Set<string>();
  for (const { path } of wanted) for (let at = parentPath(path); at !== ROOT_PATH; at = parentPath(at)) touched.add(at);
  const tree = await selectTree(target, (path, entry) => paths.has(path) || (entry.type === 'directory' && touched.has(path)));
  const obstacle = await findObstacle(place, { tree, removed });
  if (obstacle !== null)
    throw new AgentError(
      'TARGET_OCCUPIED',
      `'${shown(obstacle)}' of '${name}' would become a file, and holds something that no state has`,
      {
        hints: [
          {
            command: `ls -la ${word(join(place, showName(obstacle)))}`,
            effect: 'move that aside, then restore again; nothing was changed',
          },
        ],
      },
    );
  const expected = new Map(wanted.map((one) => [one.path, one.kind === 'added' ? null : one.before]));
  const kept = new Set<string>();
  for (const { path } of wanted)
    for (const one of sidecarsOf(path)) if ((await findEntry(target.pages, one, target.get)) !== null) kept.add(one);
  return {
    keeps: (path) => kept.has(path),
    staging,
    tree,
    removed,
    owns: (path) => isWithin(path, within),
    expected: (path) => expected.get(path) ?? null,
  };
}

/** Puts a part in place. A single file outside is put by one rename, and nothing beside it is looked at. */
export async function applyPart(
  { ports }: HostSession,
  { state, part, application }: { readonly state: OpenState; readonly part: WantedPart; readonly application: Application },
): Promise<void> {
  const { root, place, isFile } = part;
  const { staging, tree, owns, expected } = application;
  await ports.files.removeTree(staging);
  await ports.files.makeDirectory(place);
  await ports.files.makeDirectory(staging);
  await stageTree(treeOf(state, tree, root), staging, { onFiles: progressOf(ports, 'restore'), finished: false });
  if (isFile) {
    for await (const { path } of walkTree(tree.pages, tree.get)) {
      const target = fsPath(place, path);
      if (lstatSync(target, { throwIfNoEntry: false })?.isFile() === true) refuseChanged(target, path, expected(path));
      renameSync(fsPath(staging, path), target);
    }
    await ports.files.syncDirectory(place);
  } else {
    await applyTree(place, application);
    if (tree.pages.length > 0 && owns(ROOT_PATH)) finishRoot(place, root);
  }
  await ports.files.removeTree(staging);
}

/** The entry of a change: what is wanted, or what goes. */
export function entryOf(change: Change): Entry {
  return change.kind === 'removed' ? change.before : change.after;
}
