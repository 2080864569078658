import { showName } from '../core/name.ts';
import type { Digest } from '../core/digest.ts';
import { parseJson } from '../core/canonical.ts';
import type { Change } from './compare.ts';
import type { Entry, FileEntry } from './entry.ts';
import type { Profile } from '../profile/profile.ts';
import type { DatabaseRecord, Facts, Finding } from './facts.ts';
import type { GetChunk } from './tree.ts';
import { chunksOf } from './tree.ts';

/** How a profile governs identity and body. */
export interface Governance {
  readonly identity: 'declared' | 'recorded';
  readonly body: 'declared' | 'recorded';
}

/** No file larger than this is parsed to see whether it still is JSON. */
const PARSE_LIMIT = 8 * 1024 * 1024;
const REPORTED = 200;
/** Flags of what may empty or go; what a log of a database held is in the database then. */
const EMPTYING: readonly string[] = ['queue', 'cursor', 'regenerable', 'sidecar'];

/** The declaration that settles each alarm. */
export const SETTLED_BY: Readonly<Record<string, 'identity-update' | 'evolve' | 'memory-repair'>> = {
  IDENTITY_CHANGED: 'identity-update',
  BODY_CHANGED: 'evolve',
  MEMORY_VANISHED: 'memory-repair',
  MEMORY_EMPTIED: 'memory-repair',
  MEMORY_UNPARSABLE: 'memory-repair',
  MEMORY_SHRUNK: 'memory-repair',
  TABLE_EMPTIED: 'memory-repair',
};

/** Finds what may not happen silently between two states of class memory or workflow: invariant I2. */
export async function memoryAlarms(
  changes: AsyncIterable<Change>,
  get: { readonly before: GetChunk; readonly after: GetChunk },
): Promise<readonly Finding[]> {
  const suspects: Finding[] = [];
  const gone: { readonly entry: FileEntry; readonly finding: Finding }[] = [];
  const arrived = new Set<Digest>();
  for await (const change of changes) {
    if (change.kind === 'added' && change.after.type === 'file' && change.after.sha256 !== undefined) arrived.add(change.after.sha256);
    if (change.kind !== 'removed' && change.kind !== 'changed') continue;
    const { before } = change;
    if (!isMemory(before)) continue;
    const report = (code: string): Finding => ({
      code,
      subject: showName(change.path),
      class: before.class,
      next: 'agent checkpoint --declare memory-repair -m TEXT',
    });
    if (change.kind === 'removed') gone.push({ entry: before, finding: report('MEMORY_VANISHED') });
    else if (change.after.type !== 'file') gone.push({ entry: before, finding: report('MEMORY_VANISHED') });
    else if (change.after.size === '0' && before.size !== '0') suspects.push(report('MEMORY_EMPTIED'));
    else if (before.flags?.includes('append-only') === true && BigInt(change.after.size) < BigInt(before.size))
      suspects.push(report('MEMORY_SHRUNK'));
    else if (change.path.endsWith('.json') && (await parses(before, get.before)) && !(await parses(change.after, get.after)))
      suspects.push(report('MEMORY_UNPARSABLE'));
  }
  // A file that was renamed has not vanished.
  const vanished = gone
    .filter(({ entry }) => entry.size !== '0' && entry.sha256 !== undefined && !arrived.has(entry.sha256))
    .map(({ finding }) => finding);
  return [...vanished, ...suspects].slice(0, REPORTED);
}

/** Names of tables that are emptied in the course of work. */
const FLOWING =
  /(^|_)(queues?|jobs?|cron|schedules?|inbox|outbox|offsets?|cursors?|leases?|locks?|caches?|tmp|temp|pending|fts\d*|logs?)(_|$)/i;

/** Whether the rows of a table come and go in the course of work. */
export function isFlowing(table: string): boolean {
  return FLOWING.test(table);
}

/** Whether a table has no row, or is gone; one whose rows were not counted is there. */
function isEmpty(tables: ReadonlyMap<string, number | undefined>, name: string): boolean {
  return !tables.has(name) || tables.get(name) === 0;
}

/** How an alarm names a table. */
export function tableSubject(path: string, table: string): string {
  return `${path}: table ${table}`;
}

/** Tables that had rows and have none any more, or are gone: part of invariant I2. */
export function databaseAlarms(
  before: readonly DatabaseRecord[],
  after: readonly DatabaseRecord[],
  { classify }: Pick<Profile, 'classify'>,
): readonly Finding[] {
  const now = new Map(after.map((one) => [one.path, new Map(one.tables.map(({ name, rows }) => [name, rows]))]));
  return before
    .flatMap(({ path, tables }) => {
      const { class: kind, flags } = classify(path, 'sqlite');
      const left = now.get(path);
      // A database that is gone is told as a file.
      if (left === undefined || (kind !== 'memory' && kind !== 'workflow') || flowsAway({ flags })) return [];
      return tables
        .filter(({ name, rows }) => rows !== undefined && rows > 0 && !isFlowing(name) && isEmpty(left, name))
        .map(({ name }): Finding => ({
          code: 'TABLE_EMPTIED',
          subject: tableSubject(path, name),
          class: kind,
          next: 'agent checkpoint --declare memory-repair -m TEXT',
        }));
    })
    .slice(0, REPORTED);
}

/** Invariants I1 and I3: identity and body stay, unless the profile lets them be edited or a change is declared. */
export function governedAlarms(before: Facts, after: Pick<Facts, 'classes'>, governance: Governance): readonly Finding[] {
  const alarms: Finding[] = [];
  if (governance.identity === 'declared' && before.classes['identity'] !== after.classes['identity'])
    alarms.push({
      code: 'IDENTITY_CHANGED',
      subject: 'identity',
      class: 'identity',
      next: 'agent checkpoint --declare identity-update -m TEXT',
    });
  if (governance.body === 'declared' && before.classes['body'] !== after.classes['body'])
    alarms.push({ code: 'BODY_CHANGED', subject: 'body', class: 'body', next: 'agent checkpoint --declare evolve -m TEXT' });
  return alarms;
}

function isMemory(entry: Entry): entry is FileEntry {
  return entry.type === 'file' && (entry.class === 'memory' || entry.class === 'workflow') && !flowsAway(entry);
}

/** Whether what an entry is, or a file of these flags, empties or goes in the course of work. */
export function flowsAway({ flags = [] }: { readonly flags?: readonly string[] | undefined }): boolean {
  return flags.some((flag) => EMPTYING.includes(flag));
}

async function parses(entry: FileEntry, get: GetChunk): Promise<boolean> {
  if (BigInt(entry.size) > BigInt(PARSE_LIMIT)) return true;
  const parts: Buffer[] = [];
  for await (const digest of chunksOf(entry, get)) parts.push(await get(digest));
  return parseJson(Buffer.concat(parts).toString('utf8')) !== undefined;
}
