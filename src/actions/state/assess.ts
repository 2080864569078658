import { join } from 'node:path';
import type { ScanResult } from '../../capture/scan.ts';
import { canonical, parseJson } from '../../core/canonical.ts';
import { showName } from '../../core/name.ts';
import type { Declaration } from '../../ledger/record.ts';
import { SETTLED_BY, databaseAlarms, tableSubject, governedAlarms, memoryAlarms } from '../../manifest/alarms.ts';
import { compareTrees, type TreeSide } from '../../manifest/compare.ts';
import { addCounters, coverageOf } from '../../manifest/coverage.ts';
import {
  isDirectoryRoot,
  outsideRoots,
  UNCOPIED,
  type BodyFacts,
  type DatabaseRecord,
  type Facts,
  type Finding,
} from '../../manifest/facts.ts';
import { findEntry, pathFromNames, type GetChunk } from '../../manifest/tree.ts';
import type { Profile } from '../../profile/profile.ts';
import { readGit } from '../../providers/git.ts';
import type { OutsideCapture } from './outside-capture.ts';
import { inRoot } from './outside-compare.ts';
import { databaseFindings } from './databases.ts';
import { homeLabels, placeHere } from '../home/due.ts';
import { sideOf, type OpenState } from './open-state.ts';
import { factsOfProfile } from '../session/root-profile.ts';
import type { HostSession } from '../session/session.ts';

/** So many findings are named; the coverage counts all. */
const NAMED = 1000;

/** What was found, and how to read what it names. */
export interface Found {
  readonly scan: ScanResult;
  readonly get: GetChunk;
  readonly quiesced: boolean;
  readonly outside: OutsideCapture;
  readonly databases: readonly DatabaseRecord[];
}

/** Whether the tree, but for its secrets, is in the state that is recorded already, and nothing better can be said of it. */
export function isSameState(facts: Facts, { scan, quiesced, outside }: Pick<Found, 'scan' | 'quiesced' | 'outside'>): boolean {
  const [root, ...others] = facts.roots;
  const same = root?.pages.join() === scan.root.pages.join() && root.mode === scan.root.mode && root.mtime === scan.root.mtime;
  const asBefore = canonical(others) === canonical(outside.roots);
  return same && asBefore && (facts.consistency === 'quiesced' || !quiesced);
}

/** Whether the secret files hold what the recorded sheet says. */
export function sameSecrets(previous: OpenState | null, scan: ScanResult): boolean {
  if (previous === null || scan.secrets === null) return previous !== null;
  return !previous.secretsSealed && canonical(previous.sheet?.files ?? []) === canonical(scan.secrets);
}

/** Alarms that this state raises, and all that stay open with the older ones. */
export async function alarmsOf(
  previous: OpenState | null,
  found: Found,
  { profile, declared }: { readonly profile: Profile; readonly declared: readonly Declaration[] },
): Promise<{ readonly fresh: readonly Finding[]; readonly open: readonly Finding[] }> {
  if (previous === null) return { fresh: [], open: [] };
  const after: TreeSide = { pages: found.scan.root.pages, get: found.get };
  const classes = Object.fromEntries(found.scan.classes);
  const raised = [
    ...(await memoryAlarms(compareTrees(sideOf(previous), after), { before: sideOf(previous).get, after: found.get })),
    ...databaseAlarms(previous.facts.databases ?? [], found.databases, profile),
    ...(await outsideAlarms(previous, found)),
    ...governedAlarms(previous.facts, { classes }, profile.data),
  ];
  const undeclared = (alarm: Finding): boolean => !declared.some((one) => SETTLED_BY[alarm.code] === one);
  // What a rehome itself does to memory is declared by it; what was lost before is not.
  const isMoved = declared.includes('rehome');
  const fresh = raised.filter((alarm) => undeclared(alarm) && !(isMoved && SETTLED_BY[alarm.code] === 'memory-repair'));
  const kept: Finding[] = [];
  for (const alarm of previous.facts.alarms)
    if (
      undeclared(alarm) &&
      !(await cameBack(alarm, after, found)) &&
      !fresh.some((one) => one.code === alarm.code && one.subject === alarm.subject)
    )
      kept.push(alarm);
  return { fresh, open: [...kept, ...fresh] };
}

/** What lay outside of the root, belonged to the agent, and is gone, or lost memory. */
async function outsideAlarms(previous: OpenState, { outside, get }: Found): Promise<readonly Finding[]> {
  const alarms: Finding[] = [];
  for (const before of outsideRoots(previous.facts)) {
    const now = outside.roots.find((one) => one.name === before.name);
    const side = sideOf(previous);
    if (now === undefined)
      alarms.push({ code: 'MEMORY_VANISHED', subject: before.name, next: 'agent checkpoint --declare memory-repair -m TEXT' });
    else if (now.pages.join() !== before.pages.join()) {
      const changes = compareTrees({ pages: before.pages, get: side.get }, { pages: now.pages, get });
      const raised = await memoryAlarms(changes, { before: side.get, after: get });
      alarms.push(...raised.map((one) => ({ ...one, subject: inRoot(before.name, one.subject) })));
    }
  }
  return alarms;
}

/** Secrets that the state before has and this tree lacks: lost, or never supplied after a move. */
async function lostSecrets(previous: OpenState | null, found: Found): Promise<readonly Finding[]> {
  if (previous === null) return [];
  const after = { pages: found.scan.root.pages, get: found.get };
  const lost: Finding[] = [];
  // What was missing before and still is.
  for (const one of previous.facts.findings)
    if (one.code === 'SECRET_MISSING' && !one.subject.includes('\\')) {
      const entry = await findEntry(after.pages, pathFromNames(one.subject.split('/')), after.get);
      if (entry === null) lost.push(one);
    }
  for await (const change of compareTrees(sideOf(previous), after))
    if (change.kind === 'removed' && change.before.type === 'file' && change.before.class === 'secret')
      lost.push({ code: 'SECRET_MISSING', subject: showName(change.path), class: 'secret' });
  return lost;
}

/** The facts of a state. */
export async function factsOf(
  session: HostSession,
  found: Found,
  {
    previous,
    profile,
    alarms,
    message,
    moved,
    home,
  }: {
    readonly previous: OpenState | null;
    readonly profile: Profile;
    readonly alarms: readonly Finding[];
    readonly message?: string | undefined;
    /** Whether the tree was made one of this place. */
    readonly moved: boolean;
    /** The state whose files these are, where they are not at home here. */
    readonly home: Facts | null;
  },
): Promise<Facts> {
  const { scan, quiesced, outside, databases } = found;
  const body = await bodyOf(session, profile);
  const identityVersion = await identityVersionOf(session, profile);
  return {
    format: 'perdure-facts/1',
    name: session.name,
    roots: [scan.root, ...outside.roots],
    classes: Object.fromEntries(scan.classes),
    consistency: quiesced ? 'quiesced' : 'live',
    coverage: coverageOf(addCounters(scan.counter, outside.counter)),
    alarms,
    findings: [...scan.findings, ...outside.findings, ...databaseFindings(databases), ...(await lostSecrets(previous, found))].slice(
      0,
      NAMED,
    ),
    profile: factsOfProfile(profile),
    labels: {
      host: session.host.label,
      platform: session.ports.machine.platform,
      ...homeLabels(placeHere(session), { previous: home, profile, moved }),
    },
    requirements: neededPrograms(profile),
    counts: Object.fromEntries(scan.counts),
    ...(body === null ? {} : { body }),
    ...(databases.length === 0 ? {} : { databases }),
    ...(message === undefined ? {} : { message }),
    ...(identityVersion === null ? {} : { identityVersion }),
  };
}

/** The programs without which a rehydrate refuses. */
function neededPrograms({ data }: Profile): Facts['requirements'] {
  return data.requires.flatMap((one) =>
    'tool' in one && one.for === undefined
      ? [{ tool: one.tool, ...(typeof one.version === 'string' ? { version: one.version } : {}) }]
      : [],
  );
}

/** Whether a state is whole: nothing unreadable or in motion, no database that may not open, no secret lost. */
export function isWhole(facts: Facts): boolean {
  return (
    facts.coverage.complete &&
    !facts.findings.some((one) => UNCOPIED.has(one.code) || one.code === 'SECRET_MISSING' || one.code === 'OUTSIDE_UNMERGED')
  );
}

async function bodyOf({ root }: HostSession, { data }: Profile): Promise<BodyFacts | null> {
  const git = await readGit(data.bodyDirectory === undefined ? root : join(root, data.bodyDirectory));
  if (git === null) return { kind: 'files' };
  const { revision, dirty, remote } = git;
  return { kind: 'git', dirty, ...(revision === null ? {} : { revision }), ...(remote === null ? {} : { remote }) };
}

async function identityVersionOf({ root, ports }: HostSession, { data }: Profile): Promise<string | null> {
  const path = data.context.identity.find((one) => one.endsWith('.json'));
  if (path === undefined) return null;
  const value = parseJson((await ports.files.readIfPresent(join(root, path)).catch(() => null))?.toString('utf8') ?? '');
  return typeof value === 'object' &&
    value !== null &&
    'version' in value &&
    (typeof value.version === 'number' || typeof value.version === 'string')
    ? String(value.version)
    : null;
}

/** A memory file that is there again, with something in it, needs no declaration. */
async function cameBack(alarm: Finding, after: TreeSide, { databases, outside }: Found): Promise<boolean> {
  if (alarm.code === 'TABLE_EMPTIED')
    return databases.some(({ path, tables }) => tables.some(({ name, rows }) => rows !== 0 && tableSubject(path, name) === alarm.subject));
  if (alarm.code !== 'MEMORY_VANISHED' && alarm.code !== 'MEMORY_EMPTIED') return false;
  const root = outside.roots.find((one) => alarm.subject === one.name || (isDirectoryRoot(one.name) && alarm.subject.startsWith(one.name)));
  if (root?.name === alarm.subject) return true;
  // What was shown for a name that is not UTF-8 is no name; such an alarm waits for its declaration.
  if (alarm.subject.includes('\\')) return false;
  const path = root === undefined ? alarm.subject : alarm.subject.slice(root.name.length);
  if (root === undefined && /^[~/]/.test(path)) return false;
  const entry = await findEntry(root?.pages ?? after.pages, pathFromNames(path.split('/')), after.get);
  return entry?.type === 'file' && entry.size !== '0';
}
