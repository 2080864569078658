import {
  chmodSync,
  closeSync,
  constants,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  symlinkSync,
  fchmodSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { writeAll } from '../core/bytes.ts';
import { finishDigest, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import type { Threads } from '../core/threads/job.ts';
import { ROOT_PATH, childPath, fsPath, nameToBytes, parseRelPath, showName, type RelPath } from '../core/name.ts';
import { StageWriter, stageError } from './stage-writer.ts';
import { setTime } from './times.ts';
import type { DirectoryEntry, Entry, FileEntry } from '../manifest/entry.ts';
import { pathFromNames, chunksOf, readDirectory, walkTree, type GetChunk } from '../manifest/tree.ts';
import type { ObjectSource } from '../store/packs/objects.ts';
import type { Facts, SecretSheet } from '../manifest/facts.ts';

/** A tree that is to be put on disk. */
export interface StagedTree {
  readonly root: Facts['roots'][number];
  readonly get: GetChunk;
  /** The packs out of which contents are written on other threads; absent where they are to be read by `get`. */
  readonly packs?: { readonly source: ObjectSource; readonly threads: Threads };
  /** Contents of the files of class secret, or null where no key opens them. */
  readonly secrets: { readonly sheet: SecretSheet; readonly get: GetChunk } | null;
}

/** Directories that wait for their mode and time until what is in them is written. */
const MOST_LEFT = 4096;

/** What a tree needs before the first write. */
export interface StagePlan {
  readonly files: number;
  readonly bytes: bigint;
  /** Files of class secret whose content is not at hand. */
  readonly missingSecrets: readonly RelPath[];
  /** Names that a file system which folds case or normalises Unicode would take for one. */
  readonly collisions: readonly string[];
}

/** What a tree must hold to. */
export interface Completeness {
  /** Most paths that it may have. */
  readonly limit: number;
  /** Whether a chunk is there. */
  readonly has: (digest: Digest) => boolean;
}

/** Reads the whole tree and finds what would fail, before anything is written. Throws BUNDLE_INCOMPLETE where a chunk is not there. */
export async function planStage(tree: StagedTree, { limit, has }: Completeness): Promise<StagePlan> {
  const held = secretContents(tree);
  let files = 0;
  let bytes = 0n;
  const missingSecrets: RelPath[] = [];
  const collisions: string[] = [];
  const levels: { readonly directory: string; readonly folded: Map<string, string> }[] = [];
  for await (const { path, entry } of walkTree(tree.root.pages, tree.get, { limit })) {
    if (entry.type === 'file' && entry.sha256 !== undefined)
      for await (const digest of chunksOf(entry, tree.get))
        if (!has(digest)) throw new AgentError('BUNDLE_INCOMPLETE', `a part of '${showName(path)}' is in no pack`);
    if (path === '.perdure') throw new AgentError('NAME_INVALID', "the tree holds '.perdure', which only the program makes");
    files++;
    if (entry.type === 'file') {
      bytes += BigInt(entry.size);
      if (entry.class === 'secret' && !held.has(entry.same === undefined ? path : parseRelPath(entry.same))) missingSecrets.push(path);
    }
    const depth = path.split('/').length;
    const directory = path.slice(0, path.lastIndexOf('/') + 1);
    levels.length = Math.min(levels.length, depth);
    if (levels[depth - 1]?.directory !== directory) levels[depth - 1] = { directory, folded: new Map() };
    const folded = entry.name.normalize('NFC').toLowerCase();
    const twin = levels[depth - 1]?.folded.get(folded);
    if (twin === undefined) levels[depth - 1]?.folded.set(folded, entry.name);
    else collisions.push(`${showName(path)} and ${showName(twin)}`);
  }
  return { files, bytes, missingSecrets, collisions };
}

/**
 * Writes the tree into `directory`, which must be new, empty and 0700: nobody else can put a link there. Everything is
 * 0600 or 0700 until its content is whole; modes and times come last, and those of directories not at all where it is not to be
 * `finished`, since what is in it is taken out again. Not durable; the caller syncs once.
 */
export async function stageTree(
  tree: StagedTree,
  directory: string,
  {
    onFiles = () => undefined,
    finished = true,
  }: { readonly onFiles?: (files: number, bytes: bigint) => void; readonly finished?: boolean } = {},
): Promise<void> {
  const held = secretContents(tree);
  const writer = tree.packs === undefined ? null : new StageWriter(tree.packs.source, tree.packs.threads);
  const left: { readonly path: string | Buffer; readonly entry: DirectoryEntry }[] = [];
  /** Last of all in a directory, when nothing is written into it any more. */
  const finishLeft = async (): Promise<void> => {
    await writer?.idle();
    for (const { path, entry } of left.splice(0)) finishDirectory(path, entry);
  };
  const fill = async (pages: readonly Digest[], parent: RelPath): Promise<void> => {
    const below: DirectoryEntry[] = [];
    for await (const entry of readDirectory(pages, tree.get)) {
      const path = childPath(parent, entry.name);
      try {
        if (entry.type === 'directory') {
          mkdirSync(fsPath(directory, path), 0o700);
          below.push(entry);
        } else if (entry.type === 'link') makeLink(entry, fsPath(directory, path));
        else await makeFile(entry, path);
      } catch (error) {
        throw stageError(path, error);
      }
    }
    for (const entry of below) {
      await fill(entry.pages, childPath(parent, entry.name));
      if (finished) left.push({ path: fsPath(directory, childPath(parent, entry.name)), entry });
    }
    if (left.length > MOST_LEFT) await finishLeft();
  };

  const makeFile = async (entry: FileEntry, path: RelPath): Promise<void> => {
    const target = fsPath(directory, path);
    if (entry.same !== undefined && entry.class === 'secret' && !held.has(parseRelPath(entry.same))) return;
    if (entry.same !== undefined) {
      await writer?.idle();
      linkSync(firstName(directory, entry.same), target);
      return;
    }
    if (writer !== null && entry.class !== 'secret') {
      const chunks: Digest[] = [];
      let length = 0;
      for await (const digest of chunksOf(entry, tree.get)) {
        chunks.push(digest);
        length += writer.lengthOf(digest);
        if (length > Number(entry.size)) throw damaged(path);
      }
      if (length !== Number(entry.size)) throw damaged(path);
      await writer.add({ path, target, entry, chunks });
      onFiles(1, BigInt(entry.size));
      return;
    }
    const content = entry.class === 'secret' ? held.get(path) : { entry, sha256: entry.sha256, get: tree.get };
    if (content === undefined) return;
    const fd = openSync(target, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    try {
      const hash = createHash('sha256');
      let size = 0;
      for await (const digest of chunksOf(content.entry, content.get)) {
        const bytes = await content.get(digest);
        if (BigInt(size + bytes.length) > BigInt(entry.size)) throw damaged(path);
        hash.update(bytes);
        if (entry.sparse !== true || bytes.some((byte) => byte !== 0)) writeAll(fd, bytes, size);
        size += bytes.length;
      }
      if (entry.sparse === true) ftruncateSync(fd, size);
      if (String(size) !== entry.size || finishDigest(hash) !== content.sha256) throw damaged(path);
      fchmodSync(fd, entry.mode);
    } finally {
      closeSync(fd);
    }
    setTime(target, entry.mtime);
    onFiles(1, BigInt(entry.size));
  };

  try {
    await fill(tree.root.pages, ROOT_PATH);
    await finishLeft();
  } finally {
    await writer?.close();
  }
}

/** The first name of a file with several; a hostile tree could lead to it through a link that it made before. */
function firstName(directory: string, same: string): string | Buffer {
  const parent = fsPath(directory, same.slice(0, Math.max(0, same.lastIndexOf('/'))));
  if (Buffer.from(realpathSync(parent, { encoding: 'buffer' })).equals(Buffer.from(parent as string))) return fsPath(directory, same);
  throw new AgentError('TREE_DAMAGED', `the hard link '${showName(same)}' leads through a link`);
}

/** Gives the root its own mode and time; last of all, when nothing more is put into it. */
export function finishRoot(directory: string, root: Facts['roots'][number]): void {
  finishDirectory(directory, root);
}

function finishDirectory(path: string | Buffer, entry: { readonly mode: number; readonly mtime: string }): void {
  chmodSync(path, entry.mode);
  setTime(path, entry.mtime);
}

function makeLink(entry: Extract<Entry, { type: 'link' }>, path: string | Buffer): void {
  symlinkSync(nameToBytes(entry.target), path);
  setTime(path, entry.mtime);
}

function secretContents({
  secrets,
}: StagedTree): ReadonlyMap<
  RelPath,
  { readonly entry: Pick<FileEntry, 'chunks' | 'lists'>; readonly sha256: Digest; readonly get: GetChunk }
> {
  return new Map(
    secrets === null
      ? []
      : secrets.sheet.files.map((file) => [pathFromNames(file.path), { entry: file, sha256: file.sha256, get: secrets.get }]),
  );
}

function damaged(path: RelPath): AgentError {
  return new AgentError('TREE_DAMAGED', `the content of '${showName(path)}' is not what the tree says`);
}
