import { join } from 'node:path';
import { findActivity } from '../capture/quiet.ts';
import { AgentError } from '../core/errors.ts';
import { ROOT_PATH, showName, type RelPath } from '../core/name.ts';
import { applyTree, findObstacle, type Application } from '../install/apply.ts';
import { finishRoot, stageTree } from '../install/stage.ts';
import { compareTrees, type Change } from '../manifest/compare.ts';
import type { Entry } from '../manifest/entry.ts';
import type { Finding } from '../manifest/facts.ts';
import { sidecarsOf } from '../manifest/sidecars.ts';
import { findEntry } from '../manifest/tree.ts';
import { selectTree } from '../manifest/select.ts';
import type { FileClass } from '../profile/profile.ts';
import { capture, type CheckpointOptions } from './checkpoint.ts';
import { noteMoved, placeHere } from './home/due.ts';
import { progressOf } from './session/progress.ts';
import { mainRoot, sideOf, type OpenState } from './state/open-state.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { learned, openForReading } from './state/read-state.ts';
import { isWithin, known, refuseActivity, relative, treeOf } from './restore-paths.ts';
import { findState, type StateName } from './state/revision.ts';
import { readProfile } from './session/root-profile.ts';
import type { HostSession } from './session/session.ts';
import { restoreNote } from './state/unfinished.ts';
import { openSettled, withWriter } from './session/writer.ts';
import { word } from '../core/shell.ts';
import { stagingIn } from './session/control.ts';

/** The state that is wanted, and paths of it. */
export interface RestoreOptions {
  readonly revision: string;
  /** Paths below the root; none for the whole tree. */
  readonly paths: readonly string[];
}

/** What goes back. */
export interface RestorePlan {
  readonly name: string;
  /** The record whose state the tree goes back to. */
  readonly seq: number;
  readonly at: string;
  /** Paths that change, by class: added, removed or changed against the newest state. */
  readonly classes: Readonly<Record<string, number>>;
  readonly changes: readonly { readonly kind: 'added' | 'removed' | 'changed'; readonly path: string }[];
  /** Paths that another party may rely on: queues, cursors, and credentials that rotate. */
  readonly delicate: readonly { readonly path: string; readonly flag: string }[];
  /** Files of class host and secret, which stay as they are. */
  readonly stay: number;
}

/** What went back. */
export interface RestoreResult extends RestorePlan {
  readonly session: HostSession;
  /** The record that says so, or null where nothing had to change. */
  readonly recorded: number | null;
}

/** Flags of files whose going back other parties see. */
const DELICATE: readonly string[] = ['queue', 'cursor', 'ratchet'];
const STAY: readonly FileClass[] = ['host', 'secret', 'volatile'];

/**
 * Puts the tree, or paths of it, back to a recorded state. The ledger goes on: what is there now is recorded before, and
 * the result after. Files of class host and secret stay.
 */
export async function restore(
  ports: Ports,
  options: RestoreOptions & { readonly confirm: (plan: RestorePlan) => Promise<void> },
): Promise<RestoreResult> {
  const { opened, chosen, paths, plan } = await prepare(ports, options);
  if (plan.changes.length > 0 || (await restoreNote(opened).read()) !== null) await options.confirm(plan);
  return withWriter(ports, 'restore', async (locked) => {
    await refuseActivity(locked, 'restore');
    const note = restoreNote(locked);
    const begun = await note.read();
    // What an interrupted restore left is a mixture; it is recorded as what it is, since somebody may have worked on it.
    const recorded = begun === null ? await capture(locked, {}) : await capture(locked, { restored: stateIn(locked, begun.seq) });
    const before = recorded.session;
    const { plan: now, ...changes } = await changesTo(before, { chosen, paths });
    const application = await applicationOf(before, changes);
    await note.write({ seq: chosen.seq, paths, before: begun?.before ?? before.state.manifestSeq ?? chosen.seq });
    await apply(before, { target: changes.target, application });
    const after = await capture(before, {
      restored: {
        manifest: changes.target.digest,
        alarms: alarmsAfter(changes, options),
        home: paths.length === 0 ? changes.target.facts : null,
      },
    });
    if (paths.length === 0)
      await noteMoved(after.session, changes.target.facts, { here: placeHere(after.session), profile: await readProfile(after.session) });
    await note.clear();
    return { ...now, session: after.session, recorded: after.recorded ? after.session.state.seq : null };
  });
}

function stateIn(session: HostSession, seq: number): NonNullable<CheckpointOptions['restored']> {
  return { manifest: findState(session, String(seq)).manifest, alarms: [] };
}

/** A whole state that had alarms open has them again. */
function alarmsAfter({ target }: { readonly target: OpenState }, { paths }: RestoreOptions): readonly Finding[] {
  return paths.length === 0 ? target.facts.alarms : [];
}

/** Tells what a restore would put back; changes nothing. */
export async function planRestore(ports: Ports, options: RestoreOptions): Promise<RestorePlan> {
  return (await prepare(ports, options)).plan;
}

async function prepare(
  ports: Ports,
  { revision, paths: named }: RestoreOptions,
): Promise<{ readonly opened: HostSession; readonly chosen: StateName; readonly paths: readonly RelPath[]; readonly plan: RestorePlan }> {
  const opened = assertMay(await openSettled(ports), 'restore');
  await refuseActivity(opened, 'restore');
  await refuseChanging(opened);
  const chosen = findState(opened, revision);
  const paths = named.map((path) => relative(opened, path));
  const { plan } = await changesTo(opened, { chosen, paths });
  return { opened, chosen, paths, plan };
}

/** What differs between the newest state and an older one, of the paths that are asked for and that may go back. */
async function changesTo(
  session: HostSession,
  { chosen, paths }: { readonly chosen: StateName; readonly paths: readonly RelPath[] },
): Promise<{
  readonly target: OpenState;
  readonly wanted: readonly Change[];
  /** The paths that were asked for. */
  readonly within: readonly RelPath[];
  readonly plan: RestorePlan;
}> {
  const { state, name } = session;
  const head = await learned(await openForReading(session, state.manifest ?? chosen.manifest));
  const target = await learned(await openForReading(session, chosen.manifest));
  const within = await known(target, { paths, seq: chosen.seq, head });
  const wanted: Change[] = [];
  let stay = 0;
  for await (const change of compareTrees(sideOf(head), sideOf(target))) {
    if (!isWithin(change.path, within)) continue;
    if (STAY.includes(entryOf(change).class)) stay++;
    else wanted.push(change);
  }
  const classes: Record<string, number> = {};
  const visible = wanted.filter((one) => one.kind !== 'times' && entryOf(one).type !== 'directory');
  for (const change of visible) classes[entryOf(change).class] = (classes[entryOf(change).class] ?? 0) + 1;
  const delicate = visible.flatMap((change) =>
    (entryOf(change).flags ?? []).filter((flag) => DELICATE.includes(flag)).map((flag) => ({ path: showName(change.path), flag })),
  );
  const changes = visible.map(({ kind, path }) => ({ kind: kind as 'added' | 'removed' | 'changed', path: showName(path) }));
  return { target, wanted, within, plan: { name, seq: chosen.seq, at: chosen.at, classes, changes, delicate, stay } };
}

/** What is to be put in and taken out; throws TARGET_OCCUPIED where something that no state has is in the way. */
async function applicationOf(
  { control, root, name }: HostSession,
  { target, wanted, within }: { readonly target: OpenState; readonly wanted: readonly Change[]; readonly within: readonly RelPath[] },
): Promise<Application> {
  const removed = wanted.filter((one) => one.kind === 'removed').map((one) => one.path);
  const paths = new Set<string>(wanted.map((one) => one.path));
  // A directory whose content changed gets its own time back, too.
  const touched = new Set<string>();
  for (const path of paths) for (let at = parentOf(path); at !== ''; at = parentOf(at)) touched.add(at);
  const tree = await selectTree(sideOf(target), (path, entry) => paths.has(path) || (entry.type === 'directory' && touched.has(path)));
  const obstacle = await findObstacle(root, { tree, removed });
  if (obstacle !== null)
    throw new AgentError('TARGET_OCCUPIED', `'${obstacle}' of '${name}' would become a file, and holds something that no state has`, {
      hints: [{ command: `ls -la ${word(join(root, obstacle))}`, effect: 'move that aside, then restore again; nothing was changed' }],
    });
  const expected = new Map(wanted.map((one) => [one.path, one.kind === 'added' ? null : one.before]));
  const kept = new Set<string>();
  for (const { path } of wanted)
    for (const one of sidecarsOf(path)) if ((await findEntry(sideOf(target).pages, one, sideOf(target).get)) !== null) kept.add(one);
  return {
    keeps: (path) => kept.has(path),
    staging: stagingIn(root, control),
    tree,
    removed,
    owns: (path) => isWithin(path, within),
    expected: (path) => expected.get(path) ?? null,
  };
}

async function apply(
  { ports, root }: HostSession,
  { target, application }: { readonly target: OpenState; readonly application: Application },
): Promise<void> {
  const { staging, tree, owns } = application;
  await ports.files.removeTree(staging);
  await ports.files.makeDirectory(staging);
  await stageTree(treeOf(target, tree), staging, { onFiles: progressOf(ports, 'restore'), finished: false });
  await applyTree(root, application);
  if (tree.pages.length > 0 && owns(ROOT_PATH)) finishRoot(root, mainRoot(target.facts));
  await ports.files.removeTree(staging);
}

/** Looks a second time after a second: whoever opens, appends and closes is seen only so. */
async function refuseChanging({ root, ports, ...session }: HostSession): Promise<void> {
  const profile = await readProfile({ root, ports, ...session });
  const { changing } = await findActivity({ root, profile, processes: ports.processes, clock: ports.clock });
  const [first] = changing;
  if (first !== undefined)
    throw new AgentError('TREE_CHANGING', `something goes on writing: '${first}' changed within a second`, {
      hints: [
        { command: `fuser -v ${word(`${root}/${first}`)}`, effect: 'may name who; stop it, then restore again; nothing was changed' },
      ],
    });
}

function entryOf(change: Change): Entry {
  return change.kind === 'removed' ? change.before : change.after;
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
