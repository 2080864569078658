import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { liveDatabases } from '../../capture/databases/live.ts';
import { parseRelPath } from '../../core/name.ts';
import { flowsAway, isFlowing, tableSubject } from '../../manifest/alarms.ts';
import type { DatabaseRecord, Facts } from '../../manifest/facts.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import type { Profile } from '../../profile/profile.ts';
import { SKIPPED, type DatabaseFacts } from '../../providers/sqlite/look.ts';
import type { HostSession } from '../session/session.ts';
import type { CheckLine } from '../state/check-lines.ts';

/** Milliseconds to wait for a lock. */
const DATABASE_LIMIT = 10_000;

/** What is in each database now that was recorded: null where it does not open, `in use` where nothing may look into it. */
export type DatabasesNow = ReadonlyMap<string, DatabaseFacts | 'in use' | null>;

/** Looks into the databases that were recorded, once for all that is said of them; null where there is no means to. */
export async function lookAtDatabases(
  { ports, root }: HostSession,
  { databases = [] }: Facts,
  profile: Profile,
): Promise<DatabasesNow | null> {
  const sqlite = databases.length === 0 ? null : await ports.sqlite();
  if (sqlite === null) return databases.length === 0 ? new Map() : null;
  const live = new Set<string>(liveDatabases({ root, profile, processes: ports.processes }));
  const now = new Map<string, DatabaseFacts | 'in use' | null>();
  for (const { path: name, check } of databases) {
    if (name.includes('\\')) continue;
    const path = parseRelPath(name);
    // One with a log is not opened: that would bring the log to its end.
    if (live.has(path) || sidecarsOf(path).some((one) => existsSync(join(root, one)))) now.set(name, 'in use');
    else if (!existsSync(join(root, path))) now.set(name, null);
    else now.set(name, await sqlite.facts(join(root, path), { limit: DATABASE_LIMIT, brief: check === SKIPPED }));
  }
  return now;
}

/** Databases that open, with the schema and no fewer rows than were recorded, but for tables whose rows come and go. */
export function databaseLine(now: DatabasesNow | null, { databases = [] }: Facts, profile: Profile): CheckLine {
  const name = 'databases';
  if (databases.length === 0) return { name, ok: true, text: 'none' };
  if (now === null) return { name, ok: false, text: 'not looked into: the program sqlite3 is not there' };
  const inUse = [...now.values()].filter((one) => one === 'in use').length;
  const faults = databases.flatMap((record) => {
    const found = now.get(record.path);
    return found === undefined || found === 'in use' ? [] : (faultOf(record, { now: found, profile }) ?? []);
  });
  const used = inUse === 0 ? '' : `, ${String(inUse)} with a log beside it, or in use, and not looked into`;
  return {
    name,
    ok: faults.length === 0,
    text: faults.length === 0 ? `${String(databases.length - inUse)} open, with schema and rows as recorded${used}` : faults.join('; '),
  };
}

function faultOf(
  record: DatabaseRecord,
  { now, profile }: { readonly now: DatabaseFacts | null; readonly profile: Profile },
): string | null {
  if (now === null) return `'${record.path}' does not open`;
  if (now.check !== 'ok' && now.check !== SKIPPED) return `'${record.path}': ${now.check}`;
  if (now.userVersion < record.userVersion)
    return `'${record.path}' has an older schema (${String(now.userVersion)}, recorded ${String(record.userVersion)})`;
  if (flowsAway(profile.classify(record.path, 'sqlite'))) return null;
  const rows = new Map(now.tables.map((table) => [table.name, table.rows]));
  const lost = record.tables.find(
    ({ name, rows: before }) => !isFlowing(name) && (!rows.has(name) || (rows.get(name) ?? 0) < (before ?? 0)),
  );
  return lost === undefined ? null : `${tableSubject(record.path, lost.name)} has fewer rows than were recorded`;
}
