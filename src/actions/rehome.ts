import { resolve } from 'node:path';
import { AgentError } from '../core/errors.ts';
import { showName, type RelPath } from '../core/name.ts';
import { syncTree } from '../install/durable.ts';
import { stageTree } from '../install/stage.ts';
import { PathMap, type Moved } from '../install/relocate/path-map.ts';
import { selectTree } from '../manifest/select.ts';
import type { Profile } from '../profile/profile.ts';
import { changeStaged, placeHome, renamesOf, type Rewrite, type Unwritten } from './home/apply.ts';
import { moveNote, movedFrom, placeHere, type HomePlace } from './home/due.ts';
import { outsidePlaces, placeOutside, type PlacedOutside } from './home/outside.ts';
import { mentionsOf } from './home/mentions.ts';
import { planHome, type HomePlan } from './home/plan.ts';
import { capture } from './checkpoint.ts';
import { progressOf } from './session/progress.ts';
import { refuseActivity, treeOf } from './restore-paths.ts';
import { stagingIn } from './session/control.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { readProfile } from './session/root-profile.ts';
import { openSession, type HostSession } from './session/session.ts';
import { sideOf, type OpenState } from './state/open-state.ts';
import { learned, openForReading } from './state/read-state.ts';
import { withWriter } from './session/writer.ts';

/** What a rehome is told. */
export interface RehomeOptions {
  /** Further places that moved, beside the root and the account's home. */
  readonly moved: readonly Moved[];
  /** Whether the tree stays as it is, and only that it is at home here is recorded. */
  readonly asIs: boolean;
}

/** What a rehome does or did. */
export interface RehomeResult {
  readonly name: string;
  /** Where it was at home; null where it is at home here and nothing further moved. */
  readonly from: HomePlace | null;
  readonly moved: readonly Moved[];
  readonly rewrites: readonly Rewrite[];
  readonly renames: readonly { readonly from: string; readonly to: string }[];
  readonly dropped: readonly { readonly path: string; readonly about: string }[];
  readonly held: readonly { readonly path: string; readonly about: string }[];
  readonly advanced: readonly string[];
  readonly cleared: readonly { readonly path: string; readonly table: string }[];
  /** What could not be changed; it names the old place still. */
  readonly unwritten: readonly Unwritten[];
  /** Files that still name the old place or host. */
  readonly mentions: readonly Rewrite[];
  /** What a person has to do again. */
  readonly redo: readonly { readonly path: string; readonly about: string }[];
  /** What lies outside of the root: where it was put, or is to be. */
  readonly outside: readonly PlacedOutside[];
  /** The record that says so; null where there was nothing to do, or it was only looked at. */
  readonly recorded: number | null;
}

/** Tells what a rehome would do; changes nothing. */
export async function planRehome(ports: Ports, options: RehomeOptions): Promise<RehomeResult> {
  const session = assertMay(await openSession(ports), 'checkpoint');
  const work = await workOf(session, options);
  const outside = work.plan === null || work.from === null ? [] : outsidePlaces(work.state.facts, { home: ports.home, map: work.map });
  const places = outside.map(({ root, path }) => ({ name: root.name, path, how: 'placed' as const }));
  return resultOf(session, work, {
    outside: places,
    rewrites: work.plan === null ? [] : expected(work.plan),
    unwritten: [],
    mentions: [],
    recorded: null,
  });
}

/**
 * Makes an agent that moved one of this place: rewrites absolute paths where its profile says that they stand, does once what it
 * says is done after a move, and records the result as a checkpoint that declares it. What is written comes from the recorded state, so
 * that a rehome that was interrupted is done again from the beginning.
 */
export async function rehome(ports: Ports, options: RehomeOptions): Promise<RehomeResult> {
  return withWriter(ports, 'checkpoint', async (locked) => {
    await refuseActivity(locked, 'rehome');
    const note = moveNote(locked);
    const begun = await note.read();
    // What was not recorded yet is recorded first; what an interrupted rehome left is a mixture, and is made anew.
    const session = begun?.begun == null ? (await capture(locked, {})).session : locked;
    const work = await workOf(session, options);
    if (work.plan === null) {
      if (begun !== null && work.from === null) await note.clear();
      if (work.from === null) return resultOf(session, work, NOTHING);
      const { session: after } = await capture(session, { declare: ['rehome'], message: 'rehome, as it is' });
      await note.clear();
      return resultOf(after, work, { ...NOTHING, recorded: after.state.seq });
    }
    const staging = stagingIn(session.root, session.control);
    const paths = [...new Set([...work.plan.texts.keys(), ...work.plan.databases.keys(), ...work.plan.advanced.keys(), ...work.plan.logs])];
    await stage(session, work.state, { staging, paths });
    const { changed, ...done } = await changeStaged(staging, work.plan, { map: work.map, sqlite: await ports.sqlite() });
    const renames = renamesOf(session.root, work.plan.slugs, work.map);
    await syncTree(staging);
    await note.write({ from: work.from ?? placeHere(session), begun: work.state.digest });
    placeHome(session.root, { staging, plan: work.plan, renames, changed });
    await syncTree(session.root);
    const outside = work.from === null ? [] : await placeOutside(work.state, work.profile, { home: ports.home, map: work.map });
    // From now on what lies outside is looked for here.
    const { session: after } = await capture(session, { declare: ['rehome'], message: `rehome from ${work.from?.root ?? session.root}` });
    await note.clear();
    await ports.files.removeTree(staging);
    const mentions = mentionsOf(session.root, work.profile, textsOf(work));
    const named = renames.map(({ from, to }) => ({ from: showName(from), to: showName(to) }));
    const links = [...work.plan.links.keys()].map((path) => ({ path: showName(path), count: 1 }));
    return resultOf(after, work, {
      ...done,
      rewrites: [...done.rewrites, ...links],
      renames: named,
      outside,
      mentions,
      recorded: after.state.seq,
    });
  });
}

interface Work {
  readonly state: OpenState;
  readonly profile: Profile;
  readonly from: HomePlace | null;
  readonly map: PathMap;
  /** Null where nothing is to be changed. */
  readonly plan: HomePlan | null;
}

async function workOf(session: HostSession, { moved, asIs }: RehomeOptions): Promise<Work> {
  const { state: ledger } = session;
  if (ledger.manifest === null)
    throw new AgentError('CHECKPOINT_MISSING', `nothing of '${session.name}' is recorded yet`, {
      hints: [{ command: 'agent checkpoint' }],
    });
  const state = await learned(await openForReading(session, ledger.manifest));
  const profile = await readProfile(session);
  const here = placeHere(session);
  const from = movedFrom(state.facts, here, profile);
  const places = [
    ...moved.map(({ from: old, to }) => ({ from: resolve(session.ports.cwd, old), to: resolve(session.ports.cwd, to) })),
    ...(from === null
      ? []
      : [
          { from: from.root, to: here.root },
          { from: from.home, to: here.home },
        ]),
  ];
  const map = new PathMap(places);
  const isElsewhere = from !== null && from.host !== here.host;
  const nothing = asIs || (map.isEmpty && !isElsewhere);
  return { state, profile, from, map, plan: nothing ? null : await planHome(state, profile, { isElsewhere, map }) };
}

async function stage(
  { ports }: HostSession,
  state: OpenState,
  { staging, paths }: { readonly staging: string; readonly paths: readonly RelPath[] },
): Promise<void> {
  await ports.files.removeTree(staging);
  await ports.files.makeDirectory(staging);
  const wanted = new Set<string>(paths);
  const side = await selectTree(sideOf(state), (path) => wanted.has(path));
  await stageTree(treeOf(state, side), staging, { onFiles: progressOf(ports, 'rehome'), finished: false });
}

/** What is looked for afterwards: the old places, and the old host by its name, where that is no word of any text. */
function textsOf({ from, map, state }: Work): readonly string[] {
  const host = (from?.root === undefined ? undefined : state.facts.labels['host'])?.split('@').at(-1);
  const here = host === undefined || host.length < 5 || host === 'localhost' ? [] : [host];
  return [...map.moved.map((one) => one.from), ...here];
}

const NOTHING = { rewrites: [], unwritten: [], mentions: [], recorded: null } as const;

function expected({ texts, databases, links }: HomePlan): readonly Rewrite[] {
  return [...texts.keys(), ...databases.keys(), ...links.keys()].map((path) => ({ path: showName(path), count: 0 }));
}

function resultOf(
  { name }: HostSession,
  { from, map, plan }: Work,
  done: Pick<RehomeResult, 'rewrites' | 'unwritten' | 'mentions' | 'recorded'> & Partial<Pick<RehomeResult, 'renames' | 'outside'>>,
): RehomeResult {
  const told = (list: HomePlan['held'] = []): RehomeResult['held'] => list.map(({ path, about }) => ({ path: showName(path), about }));
  return {
    name,
    from,
    moved: map.moved,
    renames: [],
    outside: [],
    dropped: told(plan?.dropped),
    held: [
      ...told(plan?.held),
      ...[...(plan?.databases ?? [])].flatMap(([path, { held }]) =>
        held.map((table) => ({ path: showName(path), about: `rows of the table ${table}` })),
      ),
    ],
    advanced: [...(plan?.advanced.keys() ?? [])].map(showName),
    cleared: [...(plan?.databases ?? [])].flatMap(([path, { cleared }]) => cleared.map((table) => ({ path: showName(path), table }))),
    redo: told(plan?.redo),
    ...done,
  };
}
