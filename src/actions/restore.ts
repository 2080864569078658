import { findActivity } from '../capture/quiet.ts';
import { AgentError } from '../core/errors.ts';
import type { RelPath } from '../core/name.ts';
import { word } from '../core/shell.ts';
import type { Application } from '../install/apply.ts';
import { compareTrees, type Change, type TreeSide } from '../manifest/compare.ts';
import type { FileClass } from '../profile/profile.ts';
import { capture, type CheckpointOptions } from './checkpoint.ts';
import { refuseActivity } from './guarded/activity.ts';
import { noteMoved, placeHere } from './home/due.ts';
import { applicationOf, applyPart, entryOf, refuseUnfit, type WantedPart } from './restoring/apply-part.ts';
import { isWithin, nameOf, partsOf } from './restoring/parts.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { readProfile } from './session/root-profile.ts';
import type { HostSession } from './session/session.ts';
import { openSettled, withWriter } from './session/writer.ts';
import { liveSide } from './state/live-tree.ts';
import type { OpenState } from './state/open-state.ts';
import { liveOutside } from './state/outside-compare.ts';
import { learned, openForReading } from './state/read-state.ts';
import { findState, type StateName } from './state/revision.ts';
import { restoreNote } from './state/unfinished.ts';

/** The state that is wanted, and paths of it. */
export interface RestoreOptions {
  readonly revision: string;
  /** Paths as they were typed; none for all that is in place here. */
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
  const { opened, chosen, plan } = await prepare(ports, options);
  if (plan.changes.length > 0 || (await restoreNote(opened).read()) !== null) await options.confirm(plan);
  return withWriter(ports, 'restore', async (locked) => {
    await refuseActivity(locked, 'restore');
    const note = restoreNote(locked);
    const begun = await note.read();
    // What an interrupted restore left is a mixture; it is recorded as what it is, since somebody may have worked on it.
    const recorded = begun === null ? await capture(locked, {}) : await capture(locked, { restored: stateIn(locked, begun.seq) });
    const before = recorded.session;
    const { plan: now, target, parts } = await changesTo(before, { chosen, paths: options.paths });
    const applications: (readonly [WantedPart, Application])[] = [];
    const profile = await readProfile(before);
    for (const part of parts.filter(({ wanted }) => wanted.length > 0)) {
      refuseUnfit(before, part, profile);
      applications.push([part, await applicationOf(before, part)]);
    }
    await note.write({ seq: chosen.seq, ...notedPaths(parts, options), before: begun?.before ?? before.state.manifestSeq ?? chosen.seq });
    for (const [part, application] of applications) await applyPart(before, { state: target, part, application });
    const isWhole = options.paths.length === 0;
    const after = await capture(before, {
      restored: { manifest: target.digest, alarms: isWhole ? target.facts.alarms : [], home: isWhole ? target.facts : null },
    });
    if (isWhole)
      await noteMoved(after.session, target.facts, { here: placeHere(after.session), profile: await readProfile(after.session) });
    await note.clear();
    return { ...now, session: after.session, recorded: after.recorded ? after.session.state.seq : null };
  });
}

/** The paths that were asked for, to be noted; none where the whole was. */
function notedPaths(
  parts: readonly WantedPart[],
  { paths }: RestoreOptions,
): { readonly paths: readonly RelPath[]; readonly outside: readonly string[] } {
  if (paths.length === 0) return { paths: [], outside: [] };
  const [main, others] = [parts.filter(({ root }) => root.name === 'main'), parts.filter(({ root }) => root.name !== 'main')];
  return {
    paths: main.flatMap(({ within }) => within),
    outside: others.flatMap(({ within, shown }) => within.map((path) => shown(path))),
  };
}

function stateIn(session: HostSession, seq: number): NonNullable<CheckpointOptions['restored']> {
  return { manifest: findState(session, String(seq)).manifest, alarms: [] };
}

/** Tells what a restore would put back; changes nothing. */
export async function planRestore(ports: Ports, options: RestoreOptions): Promise<RestorePlan> {
  return (await prepare(ports, options)).plan;
}

async function prepare(
  ports: Ports,
  { revision, paths }: RestoreOptions,
): Promise<{ readonly opened: HostSession; readonly chosen: StateName; readonly plan: RestorePlan }> {
  const opened = assertMay(await openSettled(ports), 'restore');
  await refuseActivity(opened, 'restore');
  await refuseChanging(opened);
  const chosen = findState(opened, revision);
  const { plan } = await changesTo(opened, { chosen, paths, isLive: true });
  return { opened, chosen, plan };
}

/**
 * What differs between the newest state and an older one, of the paths that are asked for and that may go back; `isLive` compares with what
 * lies there, which will be the newest state once it is recorded.
 */
async function changesTo(
  session: HostSession,
  { chosen, paths, isLive = false }: { readonly chosen: StateName; readonly paths: readonly string[]; readonly isLive?: boolean },
): Promise<{ readonly target: OpenState; readonly parts: readonly WantedPart[]; readonly plan: RestorePlan }> {
  const { state, name } = session;
  const head = await learned(await openForReading(session, state.manifest ?? chosen.manifest));
  const target = await learned(await openForReading(session, chosen.manifest));
  const named = paths.map((path) => nameOf(session, path, [target, head]));
  const parts: WantedPart[] = [];
  const classes: Record<string, number> = {};
  const changes: RestorePlan['changes'][number][] = [];
  const delicate: RestorePlan['delicate'][number][] = [];
  let stay = 0;
  const live = isLive ? await liveSides(session, head) : null;
  for (const part of await partsOf(session, { target, head }, { named, seq: chosen.seq })) {
    const wanted: Change[] = [];
    const there = live === null ? part.head : (live.get(part.root.name) ?? null);
    for await (const change of compareTrees(there, part.target)) {
      if (!isWithin(change.path, part.within)) continue;
      const entry = entryOf(change);
      if (STAY.includes(entry.class)) {
        stay++;
        continue;
      }
      wanted.push(change);
      if (change.kind === 'times' || entry.type === 'directory') continue;
      const path = part.shown(change.path);
      classes[entry.class] = (classes[entry.class] ?? 0) + 1;
      changes.push({ kind: change.kind, path });
      for (const flag of entry.flags ?? []) if (DELICATE.includes(flag)) delicate.push({ path, flag });
    }
    parts.push({ ...part, wanted });
  }
  return { target, parts, plan: { name, seq: chosen.seq, at: chosen.at, classes, changes, delicate, stay } };
}

/** The trees as they lie there, by name. */
async function liveSides(session: HostSession, head: OpenState): Promise<ReadonlyMap<string, TreeSide>> {
  const profile = await readProfile(session);
  const main = await liveSide(session, head, { root: session.root, profile, trustIndex: true });
  return new Map([...(await liveOutside(session, head, profile)), ['main', main]]);
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
