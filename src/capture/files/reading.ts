import { lstatSync, type BigIntStats } from 'node:fs';
import type { Digest } from '../../core/digest.ts';
import { fsPath, storeName, type RelPath } from '../../core/name.ts';
import type { FileEntry } from '../../manifest/entry.ts';
import type { SecretSheet } from '../../manifest/facts.ts';
import { writeChunkList } from '../../manifest/tree.ts';
import { attributesOf, flagsOf, nameOf } from '../attributes.ts';
import { isLeftOut, type Captured, type Classified } from '../captured.ts';
import type { FileReader } from './file-reader.ts';
import { KEEP } from '../lane/messages.ts';
import type { HeaderKind } from '../lane/pieces.ts';
import type { FileVersion, Keep, ReadTask } from './read-task.ts';
import type { ContentStores, ScanOptions } from '../scan-options.ts';

const ATTEMPTS = 3;
/** Milliseconds before the second attempt; twice as many before the third. */
const PAUSE = 20;

/** The stores of contents, opened when there is the first. */
export class Stores {
  readonly #open: ScanOptions['store'];
  opened: ContentStores | null = null;

  constructor(open: ScanOptions['store']) {
    this.#open = open;
  }

  /** Where chunks go: nowhere, where they are known. */
  claim(use: 'main' | 'secret', digests: readonly Digest[]): readonly Keep[] | Promise<readonly Keep[]> {
    if (this.#open === undefined || digests.length === 0) return [];
    const claim = (stores: ContentStores): readonly Keep[] => digests.map((digest) => (stores[use].claim(digest) ? KEEP[use] : KEEP.none));
    if (this.opened !== null) return claim(this.opened);
    return this.#open().then((stores) => claim((this.opened = stores)));
  }
}

/** What the reading of files needs. */
export interface Work {
  readonly options: ScanOptions;
  readonly stores: Stores;
  readonly reader: FileReader;
  readonly onSecret: (path: RelPath, file: SecretSheet['files'][number]) => void;
  readonly onDatabase: (path: RelPath) => void;
}

interface Attempt {
  readonly stat: BigIntStats;
  readonly attempt: number;
  readonly resolve: (captured: Captured) => void;
  readonly as: Classified;
}

/** Reads a file until it stood still meanwhile; one that never does is included as last read, and reported. */
export class Reading implements ReadTask {
  readonly #work: Work;
  readonly #path: RelPath;
  readonly #attempt: Attempt;
  readonly path: string | Buffer;
  readonly size: number;
  readonly #chunks: Digest[] = [];
  #class: FileEntry['class'];
  #flags: readonly string[];
  #header: HeaderKind;

  constructor(work: Work, path: RelPath, attempt: Attempt) {
    this.#work = work;
    this.#path = path;
    this.#attempt = attempt;
    const { copy } = attempt.as;
    this.path = copy?.path ?? fsPath(work.options.root, path);
    this.size = Number((copy ?? attempt).stat.size);
    ({ class: this.#class, flags: this.#flags } = attempt.as);
  }

  judge(digests: readonly Digest[], header: HeaderKind): readonly Keep[] | Promise<readonly Keep[]> {
    const { as } = this.#attempt;
    if (header !== undefined && as.isFinal !== true) {
      ({ class: this.#class, flags: this.#flags } = this.#work.options.profile.classify(this.#path, header));
      if (header === 'sqlite') this.#flags = [...this.#flags, 'sqlite', ...(as.copy === undefined ? [] : ['copied'])];
    }
    this.#header ??= header;
    for (const digest of digests) this.#chunks.push(digest);
    return isLeftOut(this.#class) ? [] : this.#work.stores.claim(this.#use, digests);
  }

  done(sha256: Digest, read: number, version: FileVersion): void {
    const { attempt, resolve } = this.#attempt;
    const { stat } = this.#attempt.as.copy ?? this.#attempt;
    if (isLeftOut(this.#class)) {
      resolve({ leftOut: this.#class, isAppleDouble: this.#header === 'appledouble' });
      return;
    }
    const isIt = version.ino === stat.ino && version.dev === stat.dev && BigInt(read) === stat.size;
    const isSteady = isIt && version.size === stat.size && version.mtimeNs === stat.mtimeNs && version.ctimeNs === stat.ctimeNs;
    // What only grows at its end is whole up to the length that it had.
    const isWhole = isSteady || (isIt && this.#flags.includes('append-only'));
    if (!isWhole && attempt < ATTEMPTS) {
      this.#again().catch((error: unknown) => {
        this.fail(error);
      });
      return;
    }
    const list = writeChunkList(this.#chunks, async (digest, bytes) => this.#work.stores.opened?.[this.#use].put(digest, bytes));
    const taken = (names: Awaited<typeof list>): void => {
      const entry = this.#entryOf(names, { sha256, read });
      if (this.#flags.includes('sqlite')) this.#work.onDatabase(this.#path);
      resolve({ entry, ...(isWhole ? {} : { isMoving: true as const }), ...(this.#header === 'zeros' ? { isZeroed: true as const } : {}) });
    };
    if (list instanceof Promise)
      list.then(taken).catch((error: unknown) => {
        this.fail(error);
      });
    else taken(list);
  }

  fail(error: unknown): void {
    this.#attempt.resolve({ error });
  }

  get #use(): 'main' | 'secret' {
    return this.#class === 'secret' ? 'secret' : 'main';
  }

  async #again(): Promise<void> {
    const { options, reader } = this.#work;
    const { attempt } = this.#attempt;
    await options.clock.sleep(PAUSE * attempt);
    const stat = lstatSync(this.path, { bigint: true });
    reader.read(new Reading(this.#work, this.#path, { ...this.#attempt, stat, attempt: attempt + 1 }));
  }

  #entryOf(list: Pick<FileEntry, 'chunks' | 'lists'>, { sha256, read }: { readonly sha256: Digest; readonly read: number }): FileEntry {
    const { stat } = this.#attempt;
    const path = this.#path;
    const base = {
      ...attributesOf(nameOf(path), stat),
      class: this.#class,
      ...flagsOf(this.#flags),
      type: 'file' as const,
      size: String(read),
    };
    if (this.#class === 'secret') {
      const names = path.split('/').map(storeName);
      this.#work.onSecret(path, { root: this.#work.options.rootName, path: names, sha256, ...list, chunks: list.chunks ?? [] });
      return base;
    }
    const sparse = (this.#attempt.as.copy?.stat ?? stat).blocks * 512n < BigInt(read) ? { sparse: true as const } : {};
    return { ...base, sha256, ...list, ...sparse };
  }
}
