import type { BigIntStats } from 'node:fs';
import { AgentError } from '../../core/errors.ts';
import { showName, type RelPath } from '../../core/name.ts';
import { byCodeUnit } from '../../core/order.ts';
import type { FileEntry } from '../../manifest/entry.ts';
import type { SecretSheet } from '../../manifest/facts.ts';
import { attributesOf, nameOf } from '../attributes.ts';
import { FileReader } from './file-reader.ts';
import { Reading, Stores, type Captured, type Work } from './reading.ts';
import { walkOrder, type FileStamp } from '../index/scan-index.ts';
import type { ScanOptions } from '../scan-options.ts';
import { isLeftOut } from '../tally.ts';

/** What the index knows of a file. */
export interface Remembered {
  readonly entry: FileEntry;
  readonly stamp: FileStamp;
}

interface First {
  readonly path: RelPath;
  readonly captured: Captured | Promise<Captured>;
}

type SecretFile = SecretSheet['files'][number];

/** Turns files on disk into entries: from the index, as a further name of a file already read, or by reading. */
export class FileCapture {
  readonly #options: ScanOptions;
  readonly #reader: FileReader;
  readonly #work: Work;
  /** Files that were read so far, but for those whose reading was only put off. */
  read = 0;
  /** Files with several names, by class: the first of them and its entry. */
  readonly #inodes = new Map<string, First>();
  readonly #secrets: { readonly path: RelPath; readonly file: SecretFile }[] = [];
  /** Secret files that are as they were when the index was written; read only where the sheet has to be made anew. */
  readonly #sameSecrets: { readonly path: RelPath; readonly stat: BigIntStats }[] = [];

  constructor(options: ScanOptions) {
    this.#options = options;
    const stores = new Stores(options.store);
    this.#reader = new FileReader(options.threads, {
      onFrame: (use, frame) => stores.opened?.[use].addFrame(frame),
      async room() {
        await stores.opened?.main.room();
        await stores.opened?.secret.room();
      },
    });
    this.#work = {
      options,
      stores,
      reader: this.#reader,
      onSecret: (path, file) => {
        this.#secrets.push({ path, file });
      },
    };
  }

  /** Resolves when another file may be taken. */
  room(): Promise<void> | null {
    return this.#reader.room();
  }

  /** Ends the reading: every new chunk is in its store then. */
  end(): Promise<void> {
    return this.#reader.end();
  }

  /** Gives the threads free, whether or not all was read. */
  close(): Promise<void> {
    return this.#reader.close();
  }

  /** What the secret files hold, in walk order; null where all are those that the index knows. Reads what was put off. */
  async secrets(): Promise<{ readonly secrets: readonly SecretFile[] | null; readonly secretFiles: number }> {
    const same = this.#sameSecrets.splice(0);
    const isSame = this.#secrets.length === 0 && same.length === this.#options.index?.secrets;
    if (isSame) return { secrets: null, secretFiles: same.length };
    for (const { path, stat } of same) {
      const captured = await this.#read(path, stat);
      // The pages that name it are made already.
      if (!('entry' in captured) || captured.isMoving === true || captured.entry.size !== String(stat.size)) throw changing(path);
    }
    const secrets = this.#secrets.sort((a, b) => byWalk(a.path, b.path)).map(({ file }) => file);
    return { secrets, secretFiles: secrets.length };
  }

  /** Starts to take a regular file. What needs no reading is there at once. */
  take(path: RelPath, stat: BigIntStats, old: Remembered | undefined): Captured | Promise<Captured> {
    const kind = this.#options.profile.classify(path).class;
    if (isLeftOut(kind)) return { leftOut: kind };
    if (stat.nlink === 1n) return this.#takeOne(path, stat, old);
    const inode = `${String(stat.dev)}:${String(stat.ino)}:${kind}`;
    const first = this.#inodes.get(inode);
    if (first !== undefined) return this.#further(first, path, { stat, old });
    const captured = this.#takeOne(path, stat, old);
    this.#inodes.set(inode, { path, captured });
    return captured;
  }

  /** A further name of a file is its first entry again, where both are of one class. */
  async #further(
    { path: same, captured }: First,
    path: RelPath,
    { stat, old }: { readonly stat: BigIntStats; readonly old: Remembered | undefined },
  ): Promise<Captured> {
    const first = await captured;
    if ('entry' in first && first.entry.class === this.#options.profile.classify(path).class)
      return { entry: { ...first.entry, name: nameOf(path), same } };
    return this.#takeOne(path, stat, old);
  }

  #takeOne(path: RelPath, stat: BigIntStats, old: Remembered | undefined): Captured | Promise<Captured> {
    if (old !== undefined && isUnchanged(stat, old)) {
      const { same: _, ...entry } = old.entry;
      if (entry.class === 'secret') this.#sameSecrets.push({ path, stat });
      return { entry: { ...entry, ...attributesOf(nameOf(path), stat) } };
    }
    this.read++;
    return this.#read(path, stat);
  }

  #read(path: RelPath, stat: BigIntStats): Promise<Captured> {
    return new Promise((resolve) => {
      this.#reader.read(new Reading(this.#work, path, { stat, attempt: 1, resolve }));
    });
  }
}

function isUnchanged(stat: BigIntStats, { stamp }: Remembered): boolean {
  return (
    stamp.size === String(stat.size) &&
    stamp.mtime === String(stat.mtimeNs) &&
    stamp.ctime === String(stat.ctimeNs) &&
    stamp.ino === String(stat.ino)
  );
}

/** The order in which the walk meets files: those of a directory before those below it. */
function byWalk(a: RelPath, b: RelPath): number {
  return walkOrder(parentOf(a), parentOf(b)) || byCodeUnit(a, b);
}

function parentOf(path: RelPath): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function changing(path: RelPath): AgentError {
  return new AgentError('TREE_CHANGING', `'${showName(path)}' changed while the tree was read`, {
    hints: [{ command: 'agent checkpoint', effect: 'the same again; nothing was recorded' }],
  });
}
