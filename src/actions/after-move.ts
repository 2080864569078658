import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { liveDatabases } from '../capture/databases/live.ts';
import { fsPath, parseRelPath, showName, type RelPath } from '../core/name.ts';
import type { DatabaseRecord, Facts } from '../manifest/facts.ts';
import { sidecarsOf } from '../manifest/sidecars.ts';
import { walkTree } from '../manifest/tree.ts';
import { HELD, type Profile } from '../profile/profile.ts';
import { runCommand } from '../providers/commands.ts';
import { SKIPPED } from '../providers/sqlite.ts';
import { movedFrom, placeHere } from './home/due.ts';
import type { CheckLine } from './state/check-lines.ts';
import { compareLive } from './state/live-tree.ts';
import { sideOf, type OpenState } from './state/open-state.ts';
import { learned, openForReading } from './state/read-state.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { cameBeside, outsideOf } from './session/outside.ts';
import { readProfile } from './session/root-profile.ts';
import { openSession, type HostSession } from './session/session.ts';

/** Milliseconds to wait for a lock of a database, and for a command of the profile. */
const DATABASE_LIMIT = 10_000;
const COMMAND_LIMIT = 60_000;

/**
 * Looks whether an agent woke up as itself: it is at home here, its memory is what was recorded, its databases open and have their rows, no
 * credential is missing, nothing is held, and the agent's own program says so, where this host allowed the profile's commands.
 */
export async function afterMove(ports: Ports): Promise<readonly CheckLine[]> {
  const session = assertMay(await openSession(ports), 'act');
  const profile = await readProfile(session);
  const { manifest } = session.state;
  if (manifest === null) return [{ name: 'state', ok: false, text: 'nothing is recorded, until: agent checkpoint' }];
  const state = await learned(await openForReading(session, manifest));
  return [
    homeLine(session, state.facts, profile),
    ...(await treeLines(session, state, profile)),
    await outsideLine(session, state.facts, profile),
    await databaseLine(session, state.facts, profile),
    await heldLine(state),
    await programLine(session, profile),
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

/** Memory of which nothing is gone, and credentials that are there. */
async function treeLines(session: HostSession, state: OpenState, profile: Profile): Promise<readonly CheckLine[]> {
  const { root } = session;
  const { changes } = await compareLive(session, state, { root, profile, trustIndex: false });
  const gone = changes.filter(({ kind }) => kind === 'removed');
  // Those too that an earlier checkpoint recorded without.
  const missing = state.facts.findings
    .filter((one) => one.code === 'SECRET_MISSING' && !one.subject.includes('\\') && !existsSync(join(root, one.subject)))
    .map((one) => one.subject);
  for await (const { path, entry } of walkTree(sideOf(state).pages, sideOf(state).get))
    if (entry.type === 'file' && entry.class === 'secret' && !existsSync(fsPath(root, path))) missing.push(showName(path));
  const [first] = gone;
  return [
    {
      name: 'memory',
      ok: first === undefined,
      text:
        first === undefined
          ? changes.length === 0
            ? 'every file is what was recorded'
            : `nothing is gone; ${String(changes.length)} paths changed or are new since the record`
          : `'${first.path}' is gone${gone.length === 1 ? '' : `, and ${String(gone.length - 1)} more`}; see: agent diff`,
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
  const recorded = roots.filter((one) => one.name !== 'main');
  if (recorded.length === 0) return { name, ok: true, text: 'nothing' };
  const there = (await outsideOf(ports, root, profile)).filter((one) => one.captured);
  const came = there.flatMap((one) => cameBeside(one.path));
  const gone = recorded.filter((one) => !there.some((other) => other.name === one.name)).map((one) => one.name);
  const faults = [
    ...gone.map((one) => `'${one}' is not where the agent looks for it`),
    ...came.map((one) => `'${one}' came, and something else is in its place: compare the two, and remove one`),
  ];
  return { name, ok: faults.length === 0, text: faults.length === 0 ? recorded.map((one) => one.name).join(', ') : faults.join('; ') };
}

/** Databases that open, with the schema and no fewer rows than were recorded. */
async function databaseLine({ ports, root }: HostSession, { databases = [] }: Facts, profile: Profile): Promise<CheckLine> {
  const name = 'databases';
  if (databases.length === 0) return { name, ok: true, text: 'none' };
  const sqlite = await ports.sqlite();
  if (sqlite === null) return { name, ok: false, text: 'not looked into: the program sqlite3 is not there' };
  const live = new Set<string>(liveDatabases({ root, profile, processes: ports.processes }));
  const faults: string[] = [];
  let inUse = 0;
  for (const record of databases) {
    if (record.path.includes('\\')) continue;
    const path = parseRelPath(record.path);
    // One with a log is not opened: that would bring the log to its end.
    if (live.has(path) || sidecarsOf(path).some((one) => existsSync(join(root, one)))) inUse++;
    else {
      const fault = faultOf(
        record,
        existsSync(join(root, path))
          ? await sqlite.facts(join(root, path), { limit: DATABASE_LIMIT, brief: record.check === SKIPPED })
          : null,
      );
      if (fault !== null) faults.push(fault);
    }
  }
  const used = inUse === 0 ? '' : `, ${String(inUse)} with a log beside it, or in use, and not looked into`;
  return {
    name,
    ok: faults.length === 0,
    text: faults.length === 0 ? `${String(databases.length - inUse)} open, with schema and rows as recorded${used}` : faults.join('; '),
  };
}

function faultOf(record: DatabaseRecord, now: Omit<DatabaseRecord, 'path'> | null): string | null {
  if (now === null) return `'${record.path}' does not open`;
  if (now.check !== 'ok' && now.check !== SKIPPED) return `'${record.path}': ${now.check}`;
  if (now.userVersion < record.userVersion)
    return `'${record.path}' has an older schema (${String(now.userVersion)}, recorded ${String(record.userVersion)})`;
  const rows = new Map(now.tables.map((table) => [table.name, table.rows]));
  const lost = record.tables.find((table) => !rows.has(table.name) || (rows.get(table.name) ?? 0) < (table.rows ?? 0));
  return lost === undefined ? null : `'${record.path}': the table ${lost.name} has fewer rows than were recorded`;
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

/** What the agent's own program says. */
async function programLine({ host, root }: HostSession, { data, digest }: Profile): Promise<CheckLine> {
  const name = 'program';
  const commands = data.wake ?? [];
  if (commands.length === 0) return { name, ok: true, text: 'the profile has no command of the agent to ask' };
  if (!host.allowed.includes(digest))
    return { name, ok: true, text: `not asked ('${commands.map((one) => one.join(' ')).join("', '")}'): agent profile allow lets it be` };
  for (const argv of commands) {
    const { status, output } = await runCommand(argv, { cwd: root, limit: COMMAND_LIMIT });
    if (status !== 0) return { name, ok: false, text: `'${argv.join(' ')}' ended with ${String(status)}: ${output.split('\n')[0] ?? ''}` };
  }
  return { name, ok: true, text: `${commands.map((one) => `'${one.join(' ')}'`).join(', ')}: well` };
}
