import { lstatSync, mkdirSync, renameSync, rmSync, rmdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
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
import type { Profile } from '../../profile/profile.ts';
import { refuseWriters } from '../guarded/activity.ts';
import { placeOfName } from '../session/outside.ts';
import { progressOf } from '../session/progress.ts';
import type { HostSession } from '../session/session.ts';
import type { OpenState } from '../state/open-state.ts';
import { profileOutside } from '../state/outside-capture.ts';
import { treeOf } from '../state/staged.ts';
import { isWithin, type Part } from './parts.ts';

/** A tree of a state, and what of it goes back. */
export interface WantedPart extends Part {
  readonly wanted: readonly Change[];
}

/**
 * Throws where a part that lies outside cannot go back, before anything is changed: something else is in its place that no state has, a
 * process writes to it, or it cannot be staged beside it.
 */
export function refuseUnfit(
  session: HostSession,
  { root, place, staging, isFile, head, shown, within }: WantedPart,
  profile: Profile,
): void {
  if (root.name === 'main') return;
  const path = isFile ? join(place, basename(placeOfName(root.name, session.ports.home))) : place;
  const there = lstatSync(path, { throwIfNoEntry: false });
  const name = shown(isFile ? (within[0] ?? ROOT_PATH) : ROOT_PATH);
  const isOther = there !== undefined && (isFile ? !there.isFile() : !there.isDirectory());
  if (isOther || (there !== undefined && head === null))
    throw new AgentError('TARGET_OCCUPIED', `in the place of '${name}' is something that the newest state does not have`, {
      hints: [{ command: `mv ${word(path)} ${word(`${path}.old`)}`, effect: 'then restore again; nothing was changed' }],
    });
  const own = profileOutside({ as: root.as ?? null, class: 'memory' }, profile);
  refuseWriters(session, 'restore', { root: place, profile: own, ...(isFile ? { only: path } : {}) });
  try {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, { recursive: true, mode: 0o700 });
    const isBeside = statSync(staging).dev === (statSync(place, { throwIfNoEntry: false })?.dev ?? statSync(staging).dev);
    rmdirSync(staging);
    if (isBeside) return;
  } catch (error) {
    throw unfit(name, place, error);
  }
  throw unfit(name, place);
}

function unfit(name: string, place: string, cause?: unknown): AgentError {
  return new AgentError('FILE_UNREADABLE', `'${name}' cannot be put back: nothing can be made beside '${place}' on its file system`, {
    cause,
    hints: [{ command: `agent restore REV ${word(name)} --to DIR`, effect: 'writes it into a directory; nothing was changed' }],
  });
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
    const { removed, keeps } = application;
    for (const path of removed) {
      refuseChanged(fsPath(place, path), path, expected(path));
      rmSync(fsPath(place, path), { force: true });
    }
    for await (const { path, entry } of walkTree(tree.pages, tree.get)) {
      const target = fsPath(place, path);
      if (lstatSync(target, { throwIfNoEntry: false })?.isFile() === true) refuseChanged(target, path, expected(path));
      renameSync(fsPath(staging, path), target);
      if (entry.flags?.includes('sqlite') === true)
        for (const one of sidecarsOf(path)) if (!keeps(one)) rmSync(fsPath(place, one), { force: true });
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
