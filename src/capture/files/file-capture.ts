import { lstatSync, type BigIntStats } from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import { fsPath, showName, type RelPath } from '../../core/name.ts';
import { byCodeUnit } from '../../core/order.ts';
import type { FileEntry } from '../../manifest/entry.ts';
import type { SecretSheet } from '../../manifest/facts.ts';
import type { CopyFailure } from '../../providers/sqlite/sqlite.ts';
import { attributesOf, flagsOf, nameOf } from '../attributes.ts';
import { isLeftOut, type Captured, type Classified, type OpenDatabases } from '../captured.ts';
import { FileReader } from './file-reader.ts';
import { Reading, Stores, type Work } from './reading.ts';
import { walkOrder, type FileStamp } from '../index/scan-index.ts';
import type { ScanOptions } from '../scan-options.ts';

/** What the index knows of a file. */
export interface Remembered {
  readonly entry: FileEntry;
  readonly stamp: FileStamp;
}

/** What is known of a file that is to be taken. */
interface Taking {
  readonly old?: Remembered | undefined;
  readonly as?: Classified | undefined;
}

interface Known extends Taking {
  readonly as: Classified;
}

type TakeCopy = NonNullable<OpenDatabases['take']>;

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
  /** Databases that were read. */
  readonly databases: RelPath[] = [];
  /** Files with several names, by class: the first of them and its entry. */
  readonly #inodes = new Map<string, First>();
  readonly #secrets: { readonly path: RelPath; readonly file: SecretFile }[] = [];
  /** Secret files that are as they were when the index was written; read only where the sheet has to be made anew. */
  readonly #sameSecrets: { readonly path: RelPath; readonly stat: BigIntStats; readonly as: Classified; readonly size: string }[] = [];

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
      onDatabase: (path) => {
        this.databases.push(path);
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
    const { databases } = this.#options;
    for (const { path, stat, as, size } of same) {
      const take = databases?.live.has(path) === true ? databases.take : undefined;
      const captured = await (take === undefined ? this.#read(path, stat, as) : this.#takeCopy(path, stat, { as, take }));
      // The pages that name it are made already.
      if (!('entry' in captured) || captured.isMoving === true || captured.entry.size !== size) throw changing(path);
    }
    const secrets = this.#secrets.sort((a, b) => byWalk(a.path, b.path)).map(({ file }) => file);
    return { secrets, secretFiles: secrets.length };
  }

  /**
   * Starts to take a regular file; what needs no reading is there at once. A file that lies beside a database for it is taken `as`
   * part of that.
   */
  take(path: RelPath, stat: BigIntStats, { old, as }: Taking): Captured | Promise<Captured> {
    const kind = as ?? this.#options.profile.classify(path);
    if (isLeftOut(kind.class)) return { leftOut: kind.class };
    const { databases } = this.#options;
    if (databases?.live.has(path) === true) return this.#takeLive(path, stat, { old, as: kind });
    const failure = databases?.torn?.get(path);
    if (failure !== undefined) return this.#takeTorn(path, { as: kind, failure });
    if (stat.nlink === 1n) return this.#takeOne(path, stat, { old, as: kind });
    const inode = `${String(stat.dev)}:${String(stat.ino)}:${kind.class}`;
    const first = this.#inodes.get(inode);
    if (first !== undefined) return this.#further(first, path, { stat, old, as: kind });
    const captured = this.#takeOne(path, stat, { old, as: kind });
    this.#inodes.set(inode, { path, captured });
    return captured;
  }

  /** A further name of a file is its first entry again, where both are of one class. */
  async #further(
    { path: same, captured }: First,
    path: RelPath,
    { stat, ...taking }: Known & { readonly stat: BigIntStats },
  ): Promise<Captured> {
    const first = await captured;
    if ('entry' in first && first.entry.class === this.#options.profile.classify(path).class)
      return { entry: { ...first.entry, name: nameOf(path), same } };
    return this.#takeOne(path, stat, taking);
  }

  #takeOne(path: RelPath, stat: BigIntStats, { old, as }: Known): Captured | Promise<Captured> {
    if (old !== undefined && isUnchanged(stat, old)) return this.#asBefore(path, stat, { old, as });
    this.read++;
    return this.#read(path, stat, as);
  }

  /** Takes a database that may be written meanwhile: as it was copied before, or from a copy; as it lies there only where none could be made. */
  #takeLive(path: RelPath, stat: BigIntStats, { old, as }: Known): Captured | Promise<Captured> {
    if (old?.entry.flags?.includes('copied') === true && isUnchanged(stat, old)) return this.#asBefore(path, stat, { old, as });
    this.read++;
    const take = this.#options.databases?.take;
    return take === undefined ? differing(path, stat, as) : this.#takeCopy(path, stat, { as, take });
  }

  async #takeCopy(path: RelPath, stat: BigIntStats, { as, take }: Pick<Known, 'as'> & { readonly take: TakeCopy }): Promise<Captured> {
    const copy = await take(path);
    return 'stat' in copy ? this.#read(path, stat, { ...as, copy }) : this.#takeTorn(path, { as, failure: copy });
  }

  async #takeTorn(path: RelPath, { as, failure }: Pick<Known, 'as'> & { readonly failure: CopyFailure }): Promise<Captured> {
    this.read++;
    const stat = lstatSync(fsPath(this.#options.root, path), { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) return { error: Object.assign(new Error('ENOENT'), { code: 'ENOENT' }) };
    const captured = await this.#read(path, stat, as);
    return 'entry' in captured ? { ...captured, uncopied: failure } : captured;
  }

  #asBefore(path: RelPath, stat: BigIntStats, { old, as }: Known & { readonly old: Remembered }): Captured {
    const { same: _, ...entry } = old.entry;
    if (entry.class === 'secret') this.#sameSecrets.push({ path, stat, as, size: entry.size });
    return { entry: { ...entry, ...attributesOf(nameOf(path), stat) } };
  }

  #read(path: RelPath, stat: BigIntStats, as: Classified): Promise<Captured> {
    return new Promise((resolve) => {
      this.#reader.read(new Reading(this.#work, path, { stat, attempt: 1, resolve, as }));
    });
  }
}

/** In a check what is open is not copied, and counts as another content than any that was recorded. */
function differing(path: RelPath, stat: BigIntStats, { class: kind, flags }: Classified): Captured {
  const sha256 = digestOf(`open ${String(stat.ctimeNs)} ${String(stat.size)}`);
  return {
    entry: {
      ...attributesOf(nameOf(path), stat),
      class: kind,
      ...flagsOf([...flags, 'sqlite']),
      type: 'file',
      size: String(stat.size),
      sha256,
      chunks: [],
    },
  };
}

function isUnchanged(stat: BigIntStats, { stamp, entry }: Remembered): boolean {
  return (
    // The copy of a database is as long as it likes.
    (stamp.size === String(stat.size) || entry.flags?.includes('copied') === true) &&
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
