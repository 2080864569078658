import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { liveDatabases } from '../../capture/databases/live.ts';
import { scan, type ScanResult } from '../../capture/scan.ts';
import { ScanIndexReader, type IndexOf } from '../../capture/index/scan-index.ts';
import type { ScanOptions } from '../../capture/scan-options.ts';
import type { Digest } from '../../core/digest.ts';
import { loadName, showName } from '../../core/name.ts';
import { compareTrees, type Change, type TreeSide } from '../../manifest/compare.ts';
import type { Facts } from '../../manifest/facts.ts';
import type { GetChunk, PutChunk } from '../../manifest/tree.ts';
import type { Profile } from '../../profile/profile.ts';
import { progressOf } from '../session/progress.ts';
import { mainRoot, scanIndexPath, sideOf, type OpenState } from './open-state.ts';
import type { Session } from '../session/session.ts';

/** How a tree on disk differs from a state. */
export interface LiveDifference {
  readonly scan: ScanResult;
  /** Differences of content, type, mode or link, in path order. */
  readonly changes: readonly { readonly kind: 'added' | 'removed' | 'changed'; readonly path: string }[];
  /** How many differ in their times alone. */
  readonly times: number;
  /** Files of class secret that the state has, no key here opens, and the disk has not. */
  readonly missingSecrets: readonly string[];
  /** Files of class secret that are this host's own: the state does not have them, or no key here opens what it has. */
  readonly ownSecrets: readonly string[];
}

interface LiveOptions {
  readonly root: string;
  readonly profile: Profile;
  /** Trusts size, times and inode of files that the last checkpoint read; else every byte is read. */
  readonly trustIndex: boolean;
}

/** Compares the tree on disk with a state whose packs were learned. Writes nothing; keeps only pages that differ. */
export async function compareLive(
  session: Pick<Session, 'ports' | 'control'>,
  state: OpenState,
  { root, profile, trustIndex }: LiveOptions,
): Promise<LiveDifference> {
  const kept = keptPages(state);
  const found = await readLive(session, state, { root, profile, trustIndex, putTree: kept.putTree });
  const before = sideOf(state);
  const after = { pages: found.root.pages, get: kept.get };
  const changes: LiveDifference['changes'][number][] = [];
  const missingSecrets: string[] = [];
  const ownSecrets: string[] = [];
  let times = 0;
  for await (const change of compareTrees(before, after)) {
    if (change.kind === 'times') times++;
    else if (state.secretsSealed && isAbsentSecret(change)) missingSecrets.push(showName(change.path));
    else if (isOwnSecret(change, state)) ownSecrets.push(showName(change.path));
    else changes.push({ kind: change.kind, path: showName(change.path) });
  }
  if (mainRoot(state.facts).mode !== found.root.mode) changes.push({ kind: 'changed', path: '.' });
  for (const path of changedSecrets(state, found)) if (!changes.some((one) => one.path === path)) changes.push({ kind: 'changed', path });
  return { scan: found, changes, times, missingSecrets, ownSecrets };
}

/** The tree on disk, to be compared with a state whose packs were learned. Writes nothing. */
export async function liveSide(session: Pick<Session, 'ports' | 'control'>, state: OpenState, options: LiveOptions): Promise<TreeSide> {
  const kept = keptPages(state);
  return { pages: (await readLive(session, state, { ...options, putTree: kept.putTree })).root.pages, get: kept.get };
}

async function readLive(
  session: Pick<Session, 'ports' | 'control'>,
  state: OpenState,
  { root, profile, trustIndex, putTree }: LiveOptions & { readonly putTree: PutChunk },
): Promise<ScanResult> {
  const index = trustIndex ? openIndex(session, { manifest: state.digest, profile: profile.digest }) : null;
  return readTree(session, { root, profile, index, putTree });
}

/** Keeps the pages of a tree that is read which a state has not, so that the two can be compared. */
export function keptPages(state: OpenState): { readonly putTree: PutChunk; readonly get: GetChunk } {
  const kept = new Map<Digest, Buffer>();
  return {
    putTree(digest, bytes) {
      if (!state.objects.main.index.has(digest))
        kept.set(digest, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }));
      return Promise.resolve();
    },
    get(digest) {
      const page = kept.get(digest);
      return page === undefined ? sideOf(state).get(digest) : Promise.resolve(brotliDecompressSync(page));
    },
  };
}

/** Whether the tree looks as the facts say, by size, times and inode of what was read then. Opens no pack. */
export async function looksUnchanged(
  session: Pick<Session, 'ports' | 'control'>,
  facts: Facts,
  { manifest, root, profile }: { readonly manifest: Digest; readonly root: string; readonly profile: Profile },
): Promise<boolean> {
  const index = openIndex(session, { manifest, profile: profile.digest });
  if (index === null) return false;
  const found = await readTree(session, { root, profile, index, putTree: () => Promise.resolve() });
  const before = mainRoot(facts);
  return found.root.mode === before.mode && found.root.pages.join() === before.pages.join();
}

function openIndex({ control }: Pick<Session, 'control'>, of: IndexOf): ScanIndexReader | null {
  return ScanIndexReader.open(scanIndexPath(control), of);
}

/** Reads a tree to compare it: contents are hashed and forgotten. Closes the index. */
async function readTree(
  { ports }: Pick<Session, 'ports'>,
  options: Pick<ScanOptions, 'root' | 'profile' | 'putTree'> & { readonly index: ScanIndexReader | null },
): Promise<ScanResult> {
  const { clock, threads, processes } = ports;
  const found = liveDatabases({ ...options, processes });
  // Without a means to copy them they are recorded as they lie there.
  const live = found.length > 0 && (await ports.sqlite()) === null ? [] : found;
  return scan({
    ...options,
    databases: { live: new Set(live) },
    rootName: 'main',
    clock,
    threads,
    onFiles: progressOf(ports, 'read'),
  }).finally(() => {
    options.index?.close();
  });
}

function isAbsentSecret(change: Change): boolean {
  return change.kind === 'removed' && change.before.type === 'file' && change.before.class === 'secret';
}

function isOwnSecret(change: Change, { secretsSealed }: OpenState): boolean {
  if (change.kind !== 'added' && change.kind !== 'changed') return false;
  return change.after.type === 'file' && change.after.class === 'secret' && (change.kind === 'added' || secretsSealed);
}

/** Secret files whose content differs; none can be told where no key opens the sheet. */
function changedSecrets(state: OpenState, found: ScanResult): readonly string[] {
  if (state.sheet === null || found.secrets === null) return [];
  const now = new Map(found.secrets.map((file) => [JSON.stringify(file.path), file.sha256]));
  return state.sheet.files
    .filter((file) => (now.get(JSON.stringify(file.path)) ?? file.sha256) !== file.sha256)
    .map((file) => showName(file.path.map(loadName).join('/')));
}
