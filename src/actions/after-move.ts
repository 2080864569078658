import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fsPath, showName, type RelPath } from '../core/name.ts';
import { flowsAway } from '../manifest/alarms.ts';
import { outsideRoots, type Facts } from '../manifest/facts.ts';
import { walkTree } from '../manifest/tree.ts';
import { HELD, type Profile } from '../profile/profile.ts';
import { databaseLine, lookAtDatabases } from './awake/databases.ts';
import { needsLine, needsOf } from './awake/needs.ts';
import { programLine } from './awake/program.ts';
import { recallLine, sessionsLine } from './awake/recalled.ts';
import { movedFrom, placeHere } from './home/due.ts';
import type { CheckLine } from './state/check-lines.ts';
import { compareLive } from './state/live-tree.ts';
import { sideOf, type OpenState } from './state/open-state.ts';
import { learned, openForReading } from './state/read-state.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { cameBeside, outsideOf, placeOfName } from './session/outside.ts';
import { readProfile } from './session/root-profile.ts';
import { openSession, type HostSession } from './session/session.ts';

/**
 * Looks whether an agent woke up as itself: it is at home here, its memory is what was recorded, its databases open and have their rows, no
 * credential is missing, nothing is held, this host has what it needs, and the agent's own program says so, where this host allowed the
 * profile's commands; and that its memory holds a text, where one is given.
 */
export async function afterMove(ports: Ports, { find = null }: { readonly find?: string | null } = {}): Promise<readonly CheckLine[]> {
  const session = assertMay(await openSession(ports), 'act');
  const profile = await readProfile(session);
  const {
    host,
    root,
    state: { manifest },
  } = session;
  if (manifest === null) return [{ name: 'state', ok: false, text: 'nothing is recorded, until: agent checkpoint' }];
  const state = await learned(await openForReading(session, manifest));
  const databases = await lookAtDatabases(session, state.facts, profile);
  return [
    homeLine(session, state.facts, profile),
    ...(await treeLines(session, state, profile)),
    await outsideLine(session, state.facts, profile),
    databaseLine(databases, state.facts, profile),
    ...(await sessionsLine(session, state, { profile, databases })),
    ...(find === null ? [] : [await recallLine(session, profile, find)]),
    await heldLine(state),
    needsLine(await needsOf({ ports, root, profile, state, mayRun: host.allowed.includes(profile.digest) })),
    await programLine(session, state, profile),
  ];
}

function homeLine(session: HostSession, facts: Facts, profile: Profile): CheckLine {
  const from = movedFrom(facts, placeHere(session), profile);
  return {
    name: 'home',
    ok: from === null,
    text: from === null ? 'its files are written for this place' : `written for ${from.root}, until: agent rehome`,
  };
}

/** Files of which none is gone, and credentials that are there. */
async function treeLines(session: HostSession, state: OpenState, profile: Profile): Promise<readonly CheckLine[]> {
  const { root } = session;
  const { changes } = await compareLive(session, state, { root, profile, trustIndex: false });
  const removed = new Set(changes.filter(({ kind }) => kind === 'removed').map(({ path }) => path));
  const gone: string[] = [];
  // Those too that an earlier checkpoint recorded without.
  const missing = state.facts.findings
    .filter((one) => one.code === 'SECRET_MISSING' && !one.subject.includes('\\') && !existsSync(join(root, one.subject)))
    .map((one) => one.subject);
  for await (const { path, entry } of walkTree(sideOf(state).pages, sideOf(state).get)) {
    if (entry.type === 'file' && entry.class === 'secret' && !existsSync(fsPath(root, path))) missing.push(showName(path));
    if (entry.type === 'file' && entry.class !== 'secret' && !flowsAway(entry) && removed.has(showName(path))) gone.push(showName(path));
  }
  const [first] = gone;
  return [
    {
      name: 'memory',
      ok: first === undefined,
      text:
        first === undefined
          ? changes.length === 0
            ? 'every file is what was recorded'
            : `no file is gone that does not go in the course of work; ${String(changes.length)} paths differ from the record: agent diff`
          : `'${first}' is gone${gone.length === 1 ? '' : `, and ${String(gone.length - 1)} more`}; see: agent diff`,
    },
    {
      name: 'secrets',
      ok: missing.length === 0,
      text:
        missing.length === 0
          ? 'all are there'
          : `to be supplied: ${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ` and ${String(missing.length - 5)} more` : ''}`,
    },
  ];
}

/** What lies outside of the root: in place, and nothing of it beside something else. */
async function outsideLine({ ports, root }: HostSession, { roots }: Facts, profile: Profile): Promise<CheckLine> {
  const name = 'outside';
  const recorded = outsideRoots({ roots });
  if (recorded.length === 0) return { name, ok: true, text: 'nothing' };
  const there = (await outsideOf(ports, root, profile)).filter((one) => one.captured);
  const beside = new Map(recorded.map((one) => [one.name, cameBeside(placeOfName(one.name, ports.home))]));
  const came = [...beside.values()].flat();
  const gone = [...beside].filter(([one, list]) => list.length === 0 && !there.some((other) => other.name === one)).map(([one]) => one);
  const faults = [
    ...gone.map((one) => `'${one}' is not where the agent looks for it`),
    ...came.map((one) => `'${one}' came, and something else is in its place: compare the two, and remove one`),
  ];
  return { name, ok: faults.length === 0, text: faults.length === 0 ? recorded.map((one) => one.name).join(', ') : faults.join('; ') };
}

async function heldLine(state: OpenState): Promise<CheckLine> {
  const held: RelPath[] = [];
  for await (const { path } of walkTree(sideOf(state).pages, sideOf(state).get)) if (path.endsWith(HELD)) held.push(path);
  return {
    name: 'held',
    ok: held.length === 0,
    text: held.length === 0 ? 'nothing' : `${held.join(', ')}; look at it, then: agent release`,
  };
}
