import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseCopies } from '../../capture/databases/copies.ts';
import { liveDatabases } from '../../capture/databases/live.ts';
import { ScanIndexReader, ScanIndexWriter } from '../../capture/index/scan-index.ts';
import type { ContentStores } from '../../capture/scan-options.ts';
import { scan } from '../../capture/scan.ts';
import type { Digest } from '../../core/digest.ts';
import { addCounters, newCounter, type Counter } from '../../manifest/coverage.ts';
import { outsideRoots, type Finding, type RecordedRoot } from '../../manifest/facts.ts';
import type { PutChunk } from '../../manifest/tree.ts';
import type { Classification, Profile } from '../../profile/profile.ts';
import { movedFrom, placeHere } from '../home/due.ts';
import { readFacts } from './read-state.ts';
import { cameBeside, outsideOf, pathAs, placeOfName, type Outside } from '../session/outside.ts';
import type { HostSession } from '../session/session.ts';

/** What lies outside of the root and was captured with it. */
export interface OutsideCapture {
  readonly roots: readonly RecordedRoot[];
  readonly counter: Counter;
  readonly findings: readonly Finding[];
  /** Puts the indexes of this capture in place as those of a state, or gives them up. */
  readonly end: (manifest: Digest | null) => void;
}

interface Sink {
  /** Absent in a check, which writes nothing. */
  readonly store?: () => Promise<ContentStores>;
  /** Whether size, times and inode of files that the last checkpoint read are not trusted, and every byte is read. */
  readonly readsAll?: boolean;
  readonly putTree: PutChunk;
}

/**
 * Captures what the profile says lies outside of the root and belongs to the agent: each file or directory is a root of its own. While
 * the agent is not at home here it is what was recorded, since it is not in place yet; `isHome` says that it is now.
 */
export async function captureOutside(
  session: HostSession,
  profile: Profile,
  { isHome, ...sink }: Sink & { readonly isHome: boolean },
): Promise<OutsideCapture> {
  const { manifest } = session.state;
  const facts = manifest === null ? null : await readFacts(session, manifest);
  if (facts !== null && !isHome && movedFrom(facts, placeHere(session), profile) !== null)
    return { roots: outsideRoots(facts), counter: newCounter(), findings: [], end: () => undefined };
  const roots: RecordedRoot[] = [];
  const findings: Finding[] = [];
  let counter = newCounter();
  const ends: ((manifest: Digest | null) => void)[] = [];
  for (const outside of (await outsideOf(session.ports, session.root, profile)).filter((one) => one.captured)) {
    const before = facts?.roots.find((one) => one.name === outside.name);
    const [came] = cameBeside(outside.path);
    if (came !== undefined && before !== undefined) {
      // Which of the two is right only a person knows: what is in place does not take the other's.
      roots.push(before);
      findings.push(unmerged(outside.name, came));
      continue;
    }
    const done = await captureOne(session, { outside, profile, sink });
    ends.push(done.end);
    roots.push(done.root);
    findings.push(...done.findings);
    counter = addCounters(counter, done.counter);
  }
  // What came beside something that is not to be captured, as a link is not.
  for (const before of facts?.roots ?? []) {
    const [came] =
      before.name === 'main' || roots.some(({ name }) => name === before.name)
        ? []
        : cameBeside(placeOfName(before.name, session.ports.home));
    if (came === undefined) continue;
    roots.push(before);
    findings.push(unmerged(before.name, came));
  }
  return {
    roots: roots.sort((a, b) => (a.name < b.name ? -1 : 1)),
    counter,
    findings,
    end: (manifest) => {
      for (const end of ends) end(manifest);
    },
  };
}

function unmerged(name: string, came: string): Finding {
  return { code: 'OUTSIDE_UNMERGED', subject: name, next: `compare ${came} with what is in place, and remove one` };
}

/** The pages of something outside as it lies there; nothing is stored. */
export async function outsidePages(session: HostSession, profile: Profile, outside: Outside): Promise<string> {
  const sink = { putTree: () => Promise.resolve() };
  return (await captureOne(session, { outside, profile, sink })).root.pages.join();
}

async function captureOne(
  { ports, control, state }: Pick<HostSession, 'ports' | 'control' | 'state'>,
  { outside, profile, sink }: { readonly outside: Outside; readonly profile: Profile; readonly sink: Sink },
): Promise<{
  readonly root: RecordedRoot;
  readonly counter: Counter;
  readonly findings: readonly Finding[];
  readonly end: (manifest: Digest | null) => void;
}> {
  const { name, path } = outside;
  const isDirectory = lstatSync(path).isDirectory();
  const root = isDirectory ? path : dirname(path);
  const own = profileOutside(outside, profile);
  const indexPath = join(control, 'local', 'index', `outside-${createHash('sha256').update(name).digest('hex').slice(0, 16)}`);
  const index =
    state.manifest === null || sink.readsAll === true
      ? null
      : ScanIndexReader.open(indexPath, { manifest: state.manifest, profile: profile.digest });
  const newIndex = sink.store === undefined ? null : new ScanIndexWriter(indexPath, profile.digest, index);
  const { processes, clock, threads, sqlite } = ports;
  const live = isDirectory ? liveDatabases({ root, profile: own, processes }) : [];
  const copies = new DatabaseCopies(
    { root, staging: join(control, 'local', 'databases-outside'), note: `${indexPath}-databases`, sqlite, clock, limit: LOCK_LIMIT },
    live,
  );
  try {
    if (newIndex !== null) await copies.cut(index === null ? null : state.manifest);
    const found = await scan({
      rootName: name,
      root,
      ...(isDirectory ? {} : { only: basename(path) }),
      profile: own,
      clock,
      threads,
      index,
      newIndex,
      databases: newIndex === null ? { live: new Set(live) } : copies,
      putTree: sink.putTree,
      ...(sink.store === undefined ? {} : { store: sink.store }),
    });
    const left = found.counter.host;
    return {
      root: {
        ...found.root,
        name,
        ...(isDirectory ? {} : { mode: 0o700, mtime: '0' }),
        ...(outside.as === null ? {} : { as: outside.as }),
      },
      counter: found.counter,
      findings: [
        ...found.findings.map((one) => ({ ...one, subject: `${name}${isDirectory ? '' : ': '}${one.subject}` })),
        ...(left === 0
          ? []
          : [
              {
                code: 'SECRET_OUTSIDE',
                subject: `${name}: ${String(left)} files`,
                next: 'take them along by hand; agent profile test lists the rules',
              },
            ]),
      ],
      end: (manifest) => {
        newIndex?.end(manifest === null ? null : { manifest, secrets: 0 });
        if (manifest !== null) copies.note(manifest);
      },
    };
  } catch (error) {
    newIndex?.end(null);
    throw error;
  } finally {
    index?.close();
    copies.close();
  }
}

const LOCK_LIMIT = 5_000;

/** What the files of something outside are: as they would be within the root, or all of one class. Credentials are left where they are. */
export function profileOutside({ as, class: kind }: Pick<Outside, 'as' | 'class'>, profile: Profile): Profile {
  const asThere = (path: string, header: Parameters<Profile['classify']>[1]): Classification =>
    as === null ? { class: kind, flags: [], rule: null } : profile.classify(pathAs(as, path), header);
  return {
    ...profile,
    classify(path, header) {
      const found = asThere(path, header);
      return found.class === 'secret' ? { ...found, class: 'host' } : found;
    },
  };
}
