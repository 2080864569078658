import { join } from 'node:path';
import type { Digest } from '../../core/digest.ts';
import { chunksOf, readDirectory, type GetChunk } from '../../manifest/tree.ts';
import { decodeFacts, parseSecretPages, readSecrets } from '../../manifest/facts.ts';
import { readManifest } from '../../manifest/manifest.ts';
import { ChunkIndex, indexBlock, recordsOf } from '../../store/packs/chunk-index.ts';
import { ChunkTable } from '../../store/packs/chunk-table.ts';
import { foldPage } from '../../store/packs/folds.ts';
import { packFile, packListFile } from '../../store/layout.ts';
import { PackWriter } from '../../store/packs/pack-writer.ts';
import type { PackEntry, PackListPage } from '../../store/packs/packlist.ts';
import { chunkCachePath, type OpenState, type Use } from '../state/open-state.ts';
import type { StateName } from '../state/revision.ts';
import type { HostSession } from '../session/session.ts';

/** A pack below this size is small: it is folded with others. */
const SMALL = 4 * 1024 * 1024;

/** Packs that are to be folded, and which of their chunks are still needed; null where all are. */
interface FoldPlan {
  readonly use: Use;
  readonly packs: readonly PackEntry[];
  readonly live: ChunkTable | null;
}

/** What folding did: the pages that the next gc record names, or null where there was nothing to fold. */
export interface FoldResult {
  readonly pages: readonly Digest[];
  readonly packs: number;
  readonly into: number;
  readonly bytes: number;
}

/** Counts the small packs of the newest state. */
export function smallPacks({ packs }: Pick<OpenState, 'packs'>): number {
  return packs.filter((pack) => pack.size < SMALL).length;
}

/**
 * Writes the chunks of many small packs, and of packs that are mostly dead, into few new ones. The old packs stay; the
 * pages that say what took the place of what are named by a gc record afterwards. `kept` are the states whose chunks are
 * needed; null keeps every chunk, so that nothing has to be walked.
 */
export async function foldPacks(session: HostSession, newest: OpenState, kept: readonly StateName[] | null): Promise<FoldResult | null> {
  const live = kept === null ? null : await liveChunks(session, newest, kept);
  const pages: PackListPage[] = [];
  let folded = 0;
  let into = 0;
  let bytes = 0;
  for (const use of ['main', 'secret'] as const) {
    const plan = await planFold(session, newest, { use, live: live?.[use] ?? null });
    if (plan === null) continue;
    const written = await writeFold(session, newest, plan);
    pages.push(written);
    folded += plan.packs.length;
    into += written.packs.length;
    bytes += written.packs.reduce((sum, pack) => sum + pack.size, 0);
  }
  if (pages.length === 0) return null;
  for (const page of pages) await session.ports.files.create(join(session.control, packListFile(page.digest)), page.text);
  return { pages: [...session.state.folded, ...pages.map((page) => page.digest)], packs: folded, into, bytes };
}

async function planFold(
  { state }: HostSession,
  newest: OpenState,
  { use, live }: { readonly use: Use; readonly live: ChunkTable | null },
): Promise<FoldPlan | null> {
  const own = newest.packs.filter((pack) => state.keys.storeKeys[pack.key]?.use === use && newest.keys.has(pack.key));
  const packs: PackEntry[] = [];
  let dead = false;
  for (const pack of own) {
    const mostlyDead = live !== null && (await liveShare(newest, pack, { use, live })) < 0.5;
    dead ||= mostlyDead;
    if (pack.size < SMALL || mostlyDead) packs.push(pack);
  }
  return packs.length > 1 || dead ? { use, packs, live } : null;
}

async function liveShare(
  newest: OpenState,
  pack: PackEntry,
  { use, live }: { readonly use: Use; readonly live: ChunkTable },
): Promise<number> {
  const { frames } = await newest.objects[use].header(pack.digest);
  let all = 0;
  let kept = 0;
  for (const frame of frames)
    for (const [digest, size] of frame.chunks) {
      all += size;
      if (live.get(digest) !== null) kept += size;
    }
  return all === 0 ? 0 : kept / all;
}

async function writeFold({ ports, control, state }: HostSession, newest: OpenState, { use, packs, live }: FoldPlan): Promise<PackListPage> {
  const { files } = ports;
  const source = newest.objects[use];
  const id = state.keys[use] ?? '';
  const cache = chunkCachePath(control, use);
  const writer = new PackWriter({
    index: new ChunkIndex(),
    key: { id, recipient: state.keys.storeKeys[id]?.recipient ?? '' },
    threads: ports.threads,
    async sink({ entry, header, bytes }) {
      await files.create(join(control, packFile(entry.digest)), bytes);
      await files.append(cache, indexBlock(entry.digest, recordsOf(header)), { at: (await files.size(cache)) ?? 0 });
    },
  });
  const isLive = (digest: Digest): boolean => live === null || live.get(digest) !== null;
  const tops: Record<string, Digest> = {};
  for (const { digest } of packs) {
    const header = await source.header(digest);
    if (header.top !== undefined && isLive(header.top)) tops[digest] = header.top;
    for (const [old, top] of Object.entries(header.tops ?? {})) if (isLive(top)) tops[old] = top;
    for (const frame of header.frames)
      for (const [chunk] of frame.chunks) if (isLive(chunk)) await writer.put(chunk, await source.chunk(chunk));
  }
  return foldPage(
    await writer.finishFold(tops),
    packs.map((pack) => pack.digest),
  );
}

/**
 * Every chunk that the given states need: pages, lists, contents, secrets, and the facts by which each is entered. The
 * newest state names every pack that an older one does, so that all are read through it.
 */
async function liveChunks(
  { reader }: HostSession,
  { objects: { main, secret }, keys, packs }: OpenState,
  kept: readonly StateName[],
): Promise<Readonly<Record<Use, ChunkTable | null>>> {
  const live = new ChunkTable();
  const mark = (digest: Digest): boolean => live.add(digest, { pack: 0, frame: 0, offset: 0, length: 0 });
  const visible: Marking = { get: (digest) => main.chunk(digest), mark };
  const hidden: Marking = { get: (digest) => secret.chunk(digest), mark };
  // Where a key is missing nobody knows what the secrets of a state need.
  const secretsKnown = packs.every((pack) => keys.has(pack.key));
  for (const { manifest } of kept) {
    const found = await readManifest((name) => reader.read(name), manifest);
    if (found === null) continue;
    const facts = await main.topDigest(found.facts);
    mark(facts);
    for (const { pages } of decodeFacts(await main.chunk(facts)).roots) await markPages(pages, visible);
    if (found.secrets === undefined || !secretsKnown) continue;
    const top = await secret.topDigest(found.secrets);
    if (!mark(top)) continue;
    const bytes = await secret.chunk(top);
    for (const page of parseSecretPages(bytes)) mark(page);
    for (const file of (await readSecrets(bytes, hidden.get)).files) await markFile(file, hidden);
  }
  return { main: live, secret: secretsKnown ? live : null };
}

interface Marking {
  readonly get: GetChunk;
  /** Whether the chunk was not marked before. */
  readonly mark: (digest: Digest) => boolean;
}

async function markPages(pages: readonly Digest[], marking: Marking): Promise<void> {
  for (const page of pages) {
    // What lies below a page that was marked was marked with it.
    if (!marking.mark(page)) continue;
    for await (const entry of readDirectory([page], marking.get)) {
      if (entry.type === 'directory') await markPages(entry.pages, marking);
      if (entry.type === 'file') await markFile(entry, marking);
    }
  }
}

async function markFile(file: Parameters<typeof chunksOf>[0], { get, mark }: Marking): Promise<void> {
  for (const list of file.lists ?? []) mark(list);
  for await (const digest of chunksOf(file, get)) mark(digest);
}
