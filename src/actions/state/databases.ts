import { join } from 'node:path';
import { DatabaseCopies } from '../../capture/databases/copies.ts';
import { liveDatabases } from '../../capture/databases/live.ts';
import { showName, type RelPath } from '../../core/name.ts';
import type { DatabaseRecord, Facts, Finding } from '../../manifest/facts.ts';
import type { Profile } from '../../profile/profile.ts';
import { SKIPPED } from '../../providers/sqlite/look.ts';
import type { Session } from '../session/session.ts';

/** Milliseconds that a database may stay locked before it is taken as it lies there. */
const LOCK_LIMIT = 5_000;

/** How the databases of a root that may be written meanwhile are copied: into the control directory, where the store is. */
export function databaseCopies({ ports, root, control }: Pick<Session, 'ports' | 'root' | 'control'>, profile: Profile): DatabaseCopies {
  const { sqlite, processes } = ports;
  const copies = new DatabaseCopies(
    {
      root,
      staging: join(control, 'local', 'databases'),
      note: join(control, 'local', 'index', 'databases'),
      sqlite,
      clock: ports.clock,
      limit: LOCK_LIMIT,
    },
    liveDatabases({ root, profile, processes }),
  );
  // What a crash left.
  copies.close();
  return copies;
}

/** So many databases are looked into at a time. */
const AT_ONCE = 2;

/**
 * What is known of the databases of a tree: read of those that were read, as before of the others. Nothing is said of one of class
 * secret, since facts are sealed to more readers than it is.
 */
export async function databaseFacts(
  { databases, databasesRead }: { readonly databases: readonly RelPath[]; readonly databasesRead: readonly RelPath[] },
  {
    copies,
    profile,
    previous,
  }: {
    readonly copies: Pick<DatabaseCopies, 'facts' | 'torn' | 'canLook'>;
    readonly profile: Profile;
    readonly previous: Facts | null;
  },
): Promise<readonly DatabaseRecord[]> {
  const before = new Map((previous?.databases ?? []).map((one) => [one.path, one]));
  const read = new Set(databasesRead);
  const open = databases.filter((path) => profile.classify(path, 'sqlite').class !== 'secret' && !copies.torn.has(path));
  const canLook = open.some((path) => read.has(path)) && (await copies.canLook());
  const look = async (path: RelPath): Promise<DatabaseRecord | null> => {
    const name = showName(path);
    if (!read.has(path)) return before.get(name) ?? null;
    const facts = await copies.facts(path);
    if (facts !== null) return { ...facts, path: name };
    return canLook && !name.includes('\\') ? { path: name, userVersion: 0, tables: [], check: UNREADABLE } : null;
  };
  const found: DatabaseRecord[] = [];
  for (let at = 0; at < open.length; at += AT_ONCE)
    for (const one of await Promise.all(open.slice(at, at + AT_ONCE).map(look))) if (one !== null) found.push(one);
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What is said of a database into which nothing can look. */
const UNREADABLE = 'SQLite cannot read it';

/** What is to be told of databases: damage, and that there is no table. */
export function databaseFindings(databases: readonly DatabaseRecord[]): readonly Finding[] {
  return databases.flatMap(({ path, check, tables }): Finding[] => [
    ...(check === 'ok' || check === SKIPPED
      ? []
      : [{ code: 'DATABASE_DAMAGED', subject: path, next: `sqlite3 COPY .recover   # ${check.slice(0, 80)}` }]),
    ...((check === 'ok' || check === SKIPPED) && tables.length === 0 ? [{ code: 'DATABASE_TABLELESS', subject: path }] : []),
  ]);
}

/** Databases that came into use while the tree was read, and were read as they lay there. */
export function lateDatabases(
  { ports, root }: Pick<Session, 'ports' | 'root'>,
  profile: Profile,
  { copies, read }: { readonly copies: DatabaseCopies; readonly read: readonly RelPath[] },
): readonly Finding[] {
  const known = (path: RelPath): boolean => copies.live.has(path) || copies.torn.has(path);
  return liveDatabases({ root, profile, processes: ports.processes })
    .filter((path) => !known(path) && read.includes(path))
    .map((path) => ({ code: 'SQLITE_RAW', subject: showName(path), next: 'agent checkpoint' }));
}
