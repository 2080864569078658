import { canonical, parseJson } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { chunkListValid, treeValid } from '../core/generated/validators.js';
import { ROOT_PATH, checkName, childPath, loadName, parseRelPath, type RelPath, type StoredName } from '../core/name.ts';
import { loadEntry, storeEntry, type Entry, type FileEntry, type StoredEntry } from './entry.ts';

/** Stores a chunk of a tree. */
export type PutChunk = (digest: Digest, bytes: Uint8Array) => Promise<void>;
/** Reads a chunk of a tree. */
export type GetChunk = (digest: Digest) => Promise<Buffer>;

/** A page holds at most so many entries. */
const PAGE_LIMIT = 2048;
/** So many entries stay together; more are cut into pages. */
const ONE_PAGE = 32;
/** A directory of more entries has larger pages, since it is named by all of them. */
const MANY = 8192;
/** Nor does it grow beyond about so many characters: a chunk has a limit that readers hold to. */
const PAGE_LENGTH = 256 * 1024;
/** A file of more chunks than this names lists of chunks. */
const LIST_SIZE = 256;
/** A list of chunks holds so many. */
const LIST_CHUNKS = 4096;
/** A deeper tree is refused: no file system path reaches it. */
const DEPTH_LIMIT = 2000;
/** A tree of more paths is refused. */
const ENTRY_LIMIT = 20_000_000;

/** Writes the entries of one directory, sorted by name, as pages; returns their digests. */
export async function writeDirectory(entries: readonly WrittenEntry[], put: PutChunk): Promise<readonly Digest[]> {
  const pages: Digest[] = [];
  let page: string[] = [];
  let length = 0;
  const close = async (): Promise<void> => {
    if (page.length === 0) return;
    pages.push(await putText(`{"entries":[${page.join(',')}],"format":"perdure-tree/1"}`, put));
    page = [];
    length = 0;
  };
  for (const { name, text } of entries) {
    page.push(text);
    length += text.length;
    if (page.length >= PAGE_LIMIT || length >= PAGE_LENGTH || (entries.length > ONE_PAGE && endsPage(name, entries.length))) await close();
  }
  await close();
  return pages;
}

/** An entry as a page holds it: canonical JSON. */
export interface WrittenEntry {
  readonly name: string;
  readonly text: string;
}

/** Writes an entry for `writeDirectory`. */
export function writeEntry(entry: Entry): WrittenEntry {
  return { name: entry.name, text: canonical(storeEntry(entry)) };
}

/**
 * Whether a page closes after a name: where a hash of it ends in five zero bits (eight in a large directory), so that a new
 * name or a changed file changes one page and not all behind it. FNV-1a is enough: nothing is proved by it.
 */
function endsPage(name: string, entries: number): boolean {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 15)) & (entries > MANY ? 0xff : 0x1f)) === 0;
}

/** Splits a long chunk list; returns the part of a file entry that names the chunks. */
export function writeChunkList(chunks: readonly Digest[], put: PutChunk): ChunkNames | Promise<ChunkNames> {
  return chunks.length <= LIST_SIZE ? { chunks } : writeLists(chunks, put);
}

/** The part of a file entry that names the chunks. */
type ChunkNames = Pick<FileEntry, 'chunks' | 'lists'>;

async function writeLists(chunks: readonly Digest[], put: PutChunk): Promise<ChunkNames> {
  const lists: Digest[] = [];
  for (let at = 0; at < chunks.length; at += LIST_CHUNKS)
    lists.push(await putText(canonical({ chunks: chunks.slice(at, at + LIST_CHUNKS), format: 'perdure-chunks/1' }), put));
  return { lists };
}

/** The chunks of a file, one after the other. */
export async function* chunksOf(entry: Pick<FileEntry, 'chunks' | 'lists'>, get: GetChunk): AsyncGenerator<Digest> {
  yield* entry.chunks ?? [];
  for (const list of entry.lists ?? []) {
    const value = parseJson((await get(list)).toString('utf8'));
    if (!chunkListValid(value)) throw new AgentError('TREE_DAMAGED', 'a chunk list is not valid');
    yield* (value as { readonly chunks: readonly Digest[] }).chunks;
  }
}

/** The entries of a directory, in order; every name is checked, so that a hostile tree cannot leave its root. */
export async function* readDirectory(pages: readonly Digest[], get: GetChunk): AsyncGenerator<Entry> {
  let last: string | null = null;
  for (const page of pages) {
    const value = parseJson((await get(page)).toString('utf8'));
    if (!treeValid(value)) throw new AgentError('TREE_DAMAGED', 'a page of a directory is not valid');
    for (const stored of (value as { readonly entries: readonly StoredEntry[] }).entries) {
      const entry = loadEntry(stored);
      checkName(entry.name);
      if (entry.type === 'file' && entry.same !== undefined) parseRelPath(entry.same);
      if (last !== null && entry.name <= last) throw new AgentError('TREE_DAMAGED', 'the names of a directory are not in order');
      last = entry.name;
      yield entry;
    }
  }
}

/**
 * Every entry below a directory with its path, a directory before what is in it. Pages can be shared, so that a small
 * hostile tree could unfold without end: throws TREE_DAMAGED past a number of entries that no agent has.
 */
export function walkTree(
  pages: readonly Digest[],
  get: GetChunk,
  { limit = ENTRY_LIMIT } = {},
): AsyncGenerator<{ readonly path: RelPath; readonly entry: Entry }> {
  let left = limit;
  const walk = async function* (
    level: readonly Digest[],
    parent: RelPath,
    depth: number,
  ): AsyncGenerator<{ readonly path: RelPath; readonly entry: Entry }> {
    if (depth > DEPTH_LIMIT) throw new AgentError('TREE_DAMAGED', 'the tree is deeper than any file system');
    for await (const entry of readDirectory(level, get)) {
      if (left-- === 0) throw new AgentError('TREE_DAMAGED', `the tree unfolds to more than ${String(limit)} paths`);
      const path = childPath(parent, entry.name);
      yield { path, entry };
      if (entry.type === 'directory') yield* walk(entry.pages, path, depth + 1);
    }
  };
  return walk(pages, ROOT_PATH, 0);
}

/** The entry at a path, or null. */
export async function findEntry(pages: readonly Digest[], path: RelPath, get: GetChunk): Promise<Entry | null> {
  let found: Entry | null = null;
  let level: readonly Digest[] | null = pages;
  for (const name of path.split('/')) {
    if (level === null) return null;
    found = null;
    for await (const entry of readDirectory(level, get)) if (entry.name === name) found = entry;
    level = found?.type === 'directory' ? found.pages : null;
  }
  return found;
}

/** Joins the names of a stored path. */
export function pathFromNames(names: readonly StoredName[]): RelPath {
  return parseRelPath(names.map(loadName).map(checkName).join('/'));
}

async function putText(text: string, put: PutChunk): Promise<Digest> {
  const bytes = Buffer.from(text);
  const digest = digestOf(bytes);
  await put(digest, bytes);
  return digest;
}
