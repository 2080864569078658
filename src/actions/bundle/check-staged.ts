import { lstatSync, readdirSync, readlinkSync, type BigIntStats } from 'node:fs';
import { FileReader } from '../../capture/files/file-reader.ts';
import type { ReadTask } from '../../capture/files/read-task.ts';
import type { Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import type { Threads } from '../../core/threads/job.ts';
import { ROOT_PATH, childPath, fsPath, nameFromBytes, parseRelPath, showName, type RelPath } from '../../core/name.ts';
import type { StagedTree } from '../../install/stage.ts';
import type { DirectoryEntry, Entry } from '../../manifest/entry.ts';
import { pathFromNames, readDirectory } from '../../manifest/tree.ts';

/** What a check of a staged tree is told. */
export interface StagedCheck {
  readonly directory: string;
  readonly threads: Threads;
  /** Paths that are there beyond the tree. */
  readonly carried: ReadonlySet<RelPath>;
  readonly onFiles: (files: number, bytes: bigint) => void;
}

/**
 * Checks from the disk that a directory is what a tree says: names, types, modes, links and every byte. Throws
 * TREE_DAMAGED for the first path that is not. Secrets of which the content is not at hand may be missing.
 */
export async function checkStaged(tree: StagedTree, check: StagedCheck): Promise<void> {
  const reader = new FileReader(check.threads, { onFrame: null });
  try {
    await new Check(tree, check, reader).run();
  } finally {
    await reader.close();
  }
}

class Check {
  readonly #tree: StagedTree;
  readonly #check: StagedCheck;
  readonly #reader: FileReader;
  /** Digests of the files of class secret; null where no key opens what they hold. */
  readonly #secrets: ReadonlyMap<RelPath, Digest> | null;
  #reading = 0;
  #failure: unknown = null;
  #onEnd: () => void = () => undefined;

  constructor(tree: StagedTree, check: StagedCheck, reader: FileReader) {
    this.#tree = tree;
    this.#check = check;
    this.#reader = reader;
    this.#secrets = tree.secrets === null ? null : new Map(tree.secrets.sheet.files.map((file) => [pathFromNames(file.path), file.sha256]));
  }

  async run(): Promise<void> {
    await this.#directory(this.#tree.root.pages, ROOT_PATH);
    while (this.#reading > 0 && this.#failure === null)
      await new Promise<void>((resolve) => {
        this.#onEnd = resolve;
      });
    if (this.#failure !== null) throw this.#failure as Error;
  }

  async #directory(pages: readonly Digest[], parent: RelPath): Promise<void> {
    const names = new Set(readdirSync(fsPath(this.#check.directory, parent), { encoding: 'buffer' }).map(nameFromBytes));
    if (parent === ROOT_PATH) names.delete('.perdure');
    const below: DirectoryEntry[] = [];
    for await (const entry of readDirectory(pages, this.#tree.get)) {
      const path = childPath(parent, entry.name);
      if (!names.delete(entry.name)) {
        if (entry.type === 'file' && entry.class === 'secret' && !this.#hasSecret(entry, path)) continue;
        throw damaged(path, 'missing');
      }
      const room = this.#reader.room();
      if (room !== null) await room;
      this.#entry(entry, path);
      if (entry.type === 'directory') below.push(entry);
      if (this.#failure !== null) throw this.#failure as Error;
    }
    for (const name of names) {
      const path = childPath(parent, name);
      if (![...this.#check.carried].some((one) => one === path || one.startsWith(`${path}/`))) throw damaged(path, 'added');
    }
    for (const entry of below) await this.#directory(entry.pages, childPath(parent, entry.name));
  }

  #hasSecret(entry: Extract<Entry, { type: 'file' }>, path: RelPath): boolean {
    return this.#secrets?.has(entry.same === undefined ? path : parseRelPath(entry.same)) === true;
  }

  #entry(entry: Entry, path: RelPath): void {
    const target = fsPath(this.#check.directory, path);
    // What was carried over in the place of a secret that did not come is this host's own.
    if (this.#check.carried.has(path)) return;
    const stat = lstatSync(target, { bigint: true });
    if (!isAs(entry, stat)) throw damaged(path, 'changed');
    if (entry.type === 'link') {
      if (nameFromBytes(readlinkSync(target, { encoding: 'buffer' })) !== entry.target) throw damaged(path, 'changed');
    } else if (entry.type === 'file' && entry.same !== undefined) {
      if (lstatSync(fsPath(this.#check.directory, parseRelPath(entry.same)), { bigint: true }).ino !== stat.ino)
        throw damaged(path, 'changed');
    } else if (entry.type === 'file') {
      const sha256 = entry.class === 'secret' ? this.#secrets?.get(path) : entry.sha256;
      if (String(stat.size) !== entry.size) throw damaged(path, 'changed');
      this.#reading++;
      this.#reader.read(
        new StagedFile({ target, size: Number(stat.size), sha256 }, (error) => {
          this.#end(path, { error, bytes: stat.size });
        }),
      );
    }
  }

  #end(path: RelPath, { error, bytes }: { readonly error: unknown; readonly bytes: bigint }): void {
    this.#reading--;
    if (error !== null) this.#failure ??= error === 'changed' ? damaged(path, 'changed') : error;
    this.#check.onFiles(1, bytes);
    if (this.#reading === 0 || this.#failure !== null) this.#onEnd();
  }
}

class StagedFile implements ReadTask {
  readonly path: string | Buffer;
  readonly size: number;
  readonly #sha256: Digest | undefined;
  readonly #end: (error: unknown) => void;

  constructor(
    { target, size, sha256 }: { readonly target: string | Buffer; readonly size: number; readonly sha256: Digest | undefined },
    end: (error: unknown) => void,
  ) {
    this.path = target;
    this.size = size;
    this.#sha256 = sha256;
    this.#end = end;
  }

  judge(): readonly [] {
    return [];
  }

  done(sha256: Digest): void {
    this.#end(sha256 === this.#sha256 ? null : 'changed');
  }

  fail(error: unknown): void {
    this.#end(error);
  }
}

/** Whether type and mode are those of an entry. Times are not proved: not every file system holds what another one had. */
function isAs(entry: Entry, stat: BigIntStats): boolean {
  const type = stat.isDirectory() ? 'directory' : stat.isSymbolicLink() ? 'link' : stat.isFile() ? 'file' : 'other';
  if (type !== entry.type) return false;
  return entry.type === 'link' || Number(stat.mode & 0o7777n) === entry.mode;
}

function damaged(path: RelPath, how: 'missing' | 'added' | 'changed'): AgentError {
  return new AgentError('TREE_DAMAGED', `'${showName(path)}' came out ${how} on this disk; the target was not touched`);
}
