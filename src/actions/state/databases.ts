import { join } from 'node:path';
import { DatabaseCopies } from '../../capture/databases/copies.ts';
import { liveDatabases } from '../../capture/databases/live.ts';
import { showName, type RelPath } from '../../core/name.ts';
import type { DatabaseRecord, Facts, Finding } from '../../manifest/facts.ts';
import type { Profile } from '../../profile/profile.ts';
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
  }: { readonly copies: Pick<DatabaseCopies, 'facts'>; readonly profile: Profile; readonly previous: Facts | null },
): Promise<readonly DatabaseRecord[]> {
  const before = new Map((previous?.databases ?? []).map((one) => [one.path, one]));
  const read = new Set(databasesRead);
  const open = databases.filter((path) => profile.classify(path, 'sqlite').class !== 'secret');
  const found: DatabaseRecord[] = [];
  for (let at = 0; at < open.length; at += AT_ONCE) {
    const some = open.slice(at, at + AT_ONCE).map(async (path) => {
      const name = showName(path);
      const facts = read.has(path) ? await copies.facts(path) : before.get(name);
      return facts === null || facts === undefined ? [] : [{ ...facts, path: name }];
    });
    found.push(...(await Promise.all(some)).flat());
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What is to be told of databases: damage, and that there is no table. */
export function databaseFindings(databases: readonly DatabaseRecord[]): readonly Finding[] {
  return databases.flatMap(({ path, check, tables }): Finding[] => [
    ...(check === 'ok' ? [] : [{ code: 'DATABASE_DAMAGED', subject: path, next: `sqlite3 COPY .recover   # ${check.slice(0, 80)}` }]),
    ...(tables.length === 0 ? [{ code: 'DATABASE_TABLELESS', subject: path }] : []),
  ]);
}
