import { AgentError } from '../core/errors.ts';
import { parseRelPath, showName, type RelPath } from '../core/name.ts';
import { word } from '../core/shell.ts';
import { syncTree } from '../install/durable.ts';
import { stageTree } from '../install/stage.ts';
import type { Moved } from '../install/relocate/path-map.ts';
import { placeMoved } from '../install/relocate/place.ts';
import type { Entry } from '../manifest/entry.ts';
import { UNCOPIED } from '../manifest/facts.ts';
import { selectTree } from '../manifest/select.ts';
import { changeStaged, type Rewrite, type Unwritten } from './home/change-staged.ts';
import { moveNote, placeHere, type HomePlace, type MoveNote } from './home/due.ts';
import { outsidePlaces, placeOutside, refuseUnplaceable, type PlacedOutside } from './home/outside.ts';
import { mentionsOf, type Mention } from './home/mentions.ts';
import type { HomePlan } from './home/plan.ts';
import { renamesOf, textsOf, withRenames, workOf, type RehomeOptions, type Work } from './home/work.ts';
import { capture } from './checkpoint.ts';
import { progressOf } from './session/progress.ts';
import { refuseActivity } from './guarded/activity.ts';
import { stagingIn } from './session/control.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { openSession, type HostSession } from './session/session.ts';
import { sideOf, type OpenState } from './state/open-state.ts';
import { treeOf } from './state/staged.ts';
import { refuseUnfinished } from './state/unfinished.ts';
import { withWriter } from './session/writer.ts';

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
  /** What was left as it is. */
  readonly unwritten: readonly Unwritten[];
  /** Files and databases that still name the old place or host, and those that could not be looked through. */
  readonly mentions: readonly Mention[];
  readonly unsearched: readonly string[];
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
  const work = await workOf(session, options, null);
  const { plan } = work;
  if (plan === null) return resultOf(session, work, NOTHING);
  const places = work.from === null ? [] : outsidePlaces(work.state.facts, ports, { from: work.from, map: work.map });
  const outside = places.map(({ root, path }) => ({ name: root.name, path, how: 'placed' as const }));
  return resultOf(session, work, { ...NOTHING, outside, rewrites: expected(plan), renames: renamesOf(session.root, work) });
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
    const noted = await note.read();
    // Cut after the record was written, there is nothing left of it but the note.
    const begun = noted?.begun?.manifest === locked.state.manifest ? noted.begun : null;
    if (begun !== null && options.asIs) await refuseUnfinished(locked);
    if (noted?.begun != null && begun === null) await note.clear();
    // What was not recorded yet is recorded first; what an interrupted rehome left is a mixture, and is made anew.
    const session = begun === null ? await recordFirst(locked) : locked;
    const work = await workOf(session, { ...options, moved: begun?.moved ?? options.moved }, begun);
    if (work.plan === null) {
      if (work.from === null) {
        await note.clear();
        return resultOf(session, work, NOTHING);
      }
      const { session: after } = await capture(session, { declare: ['rehome'], message: 'rehome, as it is' });
      await note.clear();
      return resultOf(after, work, { ...NOTHING, recorded: after.state.seq });
    }
    return doRehome(session, { ...work, plan: work.plan }, { note, noted, begun, moved: begun?.moved ?? options.moved });
  });
}

async function doRehome(
  session: HostSession,
  work: Work & { readonly plan: HomePlan },
  {
    note,
    noted,
    begun,
    moved,
  }: Pick<Begun, 'moved'> & { readonly note: ReturnType<typeof moveNote>; readonly noted: MoveNote | null; readonly begun: Begun | null },
): Promise<RehomeResult> {
  const { ports, root, control } = session;
  const { plan } = work;
  const sqlite = plan.databases.size === 0 ? null : await ports.sqlite();
  if (plan.databases.size > 0 && sqlite === null)
    throw new AgentError('REQUIREMENT_MISSING', `databases of '${session.name}' have to be changed, and the program sqlite3 is not here`, {
      hints: [{ command: 'agent rehome', effect: 'when sqlite3 is on PATH, or with Node 24; nothing was changed' }],
    });
  const renames =
    begun === null ? renamesOf(root, work) : begun.renames.map(({ from, to }) => ({ from: parseRelPath(from), to: parseRelPath(to) }));
  const staging = stagingIn(root, control);
  const paths = [...new Set([...plan.texts.keys(), ...plan.databases.keys(), ...plan.advanced.keys(), ...plan.beside])];
  const entries = await stage(session, work.state, { staging, paths });
  const { changed, rewrites, unwritten, emptied } = await changeStaged(staging, plan, { map: withRenames(work, root, renames), sqlite });
  const [stuck] = unwritten;
  if (stuck !== undefined)
    throw new AgentError(
      'REHOME_STUCK',
      `'${stuck.path}' cannot be made one of this place: ${stuck.why}${unwritten.length === 1 ? '' : `; and ${String(unwritten.length - 1)} more`}`,
      {
        hints: [
          {
            command: `agent rehome --skip ${word(stuck.path)}`,
            effect: 'leaves it as it is, and so for each of them; nothing was changed',
          },
        ],
      },
    );
  if (work.from !== null) refuseUnplaceable(work.state.facts, ports, { from: work.from, map: work.map });
  await syncTree(staging);
  await refuseActivity(session, 'rehome');
  await note.write({ from: work.from ?? noted?.from ?? placeHere(session), begun: { manifest: work.state.digest, moved, renames } });
  placeMoved(root, {
    staging,
    changed,
    databases: plan.databases,
    renames,
    links: plan.links,
    dropped: plan.dropped.map(({ path }) => path),
    held: plan.held.map(({ path }) => path),
    expected: begun === null ? (path) => entries.get(path) ?? null : null,
  });
  await syncTree(root);
  const outside =
    work.from === null ? null : await placeOutside(session, work.state, { from: work.from, map: work.map, profile: work.profile });
  // From now on what lies outside is looked for here.
  const { session: after } = await capture(session, { declare: ['rehome'], message: `rehome from ${work.from?.root ?? root}` });
  await note.clear();
  await ports.files.removeTree(staging);
  const { found: mentions, unsearched } = await mentionsOf(after, work.profile, textsOf(work));
  const links = [...plan.links.keys()].map((path) => ({ path: showName(path), count: 1 }));
  const named = renames.map(({ from, to }) => ({ from: showName(from), to: showName(to) }));
  const isEmptied = ({ path, table }: { readonly path: RelPath; readonly table: string }): boolean =>
    emptied.some((one) => one.path === path && one.table === table);
  return resultOf(after, work, {
    isEmptied,
    rewrites: [...rewrites, ...links, ...(outside?.rewrites ?? [])],
    unwritten: outside?.unwritten ?? [],
    renames: named,
    outside: outside?.placed ?? [],
    mentions,
    unsearched,
    recorded: after.state.seq,
  });
}

/** Records what is there; throws where a database in use could not be recorded whole, since it would be replaced. */
async function recordFirst(locked: HostSession): Promise<HostSession> {
  const { session, facts } = await capture(locked, {});
  const torn = facts.findings.find((one) => UNCOPIED.has(one.code));
  if (torn !== undefined)
    throw new AgentError('WRITER_FOUND', `'${torn.subject}' is in use and could not be recorded whole`, {
      hints: [{ command: `fuser -v ${word(torn.subject)}`, effect: 'names who; stop it, then rehome again' }],
    });
  return session;
}

type Begun = NonNullable<MoveNote['begun']>;

/** Stages files of a state; gives their entries. */
async function stage(
  { ports }: HostSession,
  state: OpenState,
  { staging, paths }: { readonly staging: string; readonly paths: readonly RelPath[] },
): Promise<ReadonlyMap<RelPath, Entry>> {
  await ports.files.removeTree(staging);
  await ports.files.makeDirectory(staging);
  const wanted = new Set<string>(paths);
  const entries = new Map<RelPath, Entry>();
  const side = await selectTree(sideOf(state), (path, entry) => {
    if (wanted.has(path)) entries.set(path, entry);
    return wanted.has(path);
  });
  await stageTree(treeOf(state, side), staging, { onFiles: progressOf(ports, 'rehome'), finished: false });
  return entries;
}

const NOTHING = { rewrites: [], mentions: [], unsearched: [], recorded: null } as const;

function expected({ texts, databases, links }: HomePlan): readonly Rewrite[] {
  return [...texts.keys(), ...databases.keys(), ...links.keys()].map((path) => ({ path: showName(path), count: 0 }));
}

function resultOf(
  { name }: HostSession,
  { from, map, plan, skip }: Work,
  {
    isEmptied = () => true,
    unwritten = [],
    ...done
  }: Pick<RehomeResult, 'rewrites' | 'mentions' | 'unsearched' | 'recorded'> &
    Partial<Pick<RehomeResult, 'renames' | 'outside' | 'unwritten'>> & {
      /** Whether a table had rows; before it was looked, all might. */
      readonly isEmptied?: (one: { readonly path: RelPath; readonly table: string }) => boolean;
    },
): RehomeResult {
  const told = (list: HomePlan['held'] = []): RehomeResult['held'] => list.map(({ path, about }) => ({ path: showName(path), about }));
  return {
    name,
    from,
    moved: plan === null ? [] : map.moved,
    renames: [],
    outside: [],
    dropped: told(plan?.dropped),
    held: [
      ...told(plan?.held),
      ...[...(plan?.databases ?? [])].flatMap(([path, { held }]) =>
        held.filter((table) => isEmptied({ path, table })).map((table) => ({ path: showName(path), about: `rows of the table ${table}` })),
      ),
    ],
    advanced: [...(plan?.advanced.keys() ?? [])].map(showName),
    cleared: [...(plan?.databases ?? [])].flatMap(([path, { cleared }]) =>
      cleared.filter((table) => isEmptied({ path, table })).map((table) => ({ path: showName(path), table })),
    ),
    unwritten: [...skip.map((path) => ({ path, why: 'left as it is, as it was asked for' })), ...unwritten],
    redo: told(plan?.redo),
    ...done,
  };
}
