import { lstatSync, type BigIntStats } from 'node:fs';
import { fsPath, storeName, type RelPath } from '../core/name.ts';
import type { FileEntry } from '../manifest/entry.ts';
import { writeChunkList } from '../manifest/tree.ts';
import type { Classification } from '../profile/profile.ts';
import { attributesOf, flagsOf } from './attributes.ts';
import { CUT, peekHeader, readFile, type ReadResult } from './read-file.ts';
import type { FileStamp } from './scan-index.ts';
import type { ScanOptions } from './scan-options.ts';
import type { Tally } from './tally.ts';

const ATTEMPTS = 3;
/** Milliseconds before the second attempt; twice as many before the third. */
const PAUSE = 20;

/** What the index knows of a file. */
export interface Remembered {
  readonly entry: FileEntry;
  readonly stamp: FileStamp;
}

/** Turns files on disk into entries: from the index, as a further name of a file already read, or by reading. */
export class FileCapture {
  readonly #options: ScanOptions;
  readonly #tally: Tally;
  readonly #scratch = Buffer.allocUnsafe(CUT);
  /** Files with several names: the first of them and its entry. */
  readonly #inodes = new Map<string, { readonly path: RelPath; readonly entry: FileEntry }>();

  constructor(options: ScanOptions, tally: Tally) {
    this.#options = options;
    this.#tally = tally;
  }

  /** The entry of a regular file, or null where it does not travel or could not be read. */
  async take(path: RelPath, stat: BigIntStats, old: Remembered | undefined): Promise<FileEntry | null> {
    const { profile } = this.#options;
    const first = profile.classify(path);
    if (this.#tally.leavesOut(first.class)) return null;
    const inode = `${String(stat.dev)}:${String(stat.ino)}`;
    const twin = stat.nlink > 1n ? this.#inodes.get(inode) : undefined;
    if (twin?.entry.class === first.class) return this.#done(path, { ...twin.entry, name: nameOf(path), same: twin.path });
    let entry: FileEntry | null;
    try {
      entry =
        old !== undefined && isUnchanged(stat, old)
          ? { ...withoutSame(old.entry), ...attributesOf(nameOf(path), stat) }
          : await this.#read(path, stat);
    } catch (error) {
      this.#tally.failed(path, error);
      return null;
    }
    if (entry === null) return null;
    if (stat.nlink > 1n) this.#inodes.set(inode, { path, entry });
    return this.#done(path, entry);
  }

  #done(path: RelPath, entry: FileEntry): FileEntry {
    this.#tally.file(entry, path);
    return entry;
  }

  async #read(path: RelPath, first: BigIntStats): Promise<FileEntry | null> {
    const { profile, root, rootName } = this.#options;
    const known = profile.classify(path, profile.wantsHeader(path) ? peekHeader(fsPath(root, path)) : undefined);
    if (this.#tally.leavesOut(known.class)) return null;
    const secret = known.class === 'secret';
    const put = secret ? this.#options.putSecret : this.#options.put;
    const { result, stat } = await this.#readSteady(path, first, known);
    const flags = result.header === 'sqlite' ? [...known.flags, 'sqlite'] : known.flags;
    const base = {
      ...attributesOf(nameOf(path), stat),
      class: known.class,
      ...flagsOf(flags),
      type: 'file' as const,
      size: String(result.size),
    };
    const list = await writeChunkList(result.chunks, put);
    if (secret) {
      this.#tally.secrets.push({
        root: rootName,
        path: path.split('/').map(storeName),
        sha256: result.sha256,
        ...list,
        chunks: list.chunks ?? [],
      });
      return base;
    }
    const sparse = stat.blocks * 512n < result.size ? { sparse: true as const } : {};
    return { ...base, sha256: result.sha256, ...list, ...sparse };
  }

  /** Reads a file until it stood still meanwhile; one that never does is included as last read, and reported. */
  async #readSteady(
    path: RelPath,
    first: BigIntStats,
    { class: kind, flags }: Classification,
  ): Promise<{ readonly result: ReadResult; readonly stat: BigIntStats }> {
    const { root, clock } = this.#options;
    const target = fsPath(root, path);
    const put = kind === 'secret' ? this.#options.putSecret : this.#options.put;
    let stat = first;
    for (let attempt = 1; ; attempt++) {
      const result = await readFile(target, { expected: stat, scratch: this.#scratch, take: put });
      // What only grows at its end is whole up to the length that it had.
      if (result.steady || (flags.includes('append-only') && result.size === stat.size)) return { result, stat };
      if (attempt === ATTEMPTS) {
        this.#tally.counter.changed++;
        this.#tally.counter.included--;
        this.#tally.report('FILE_CHANGING', path);
        return { result, stat };
      }
      await clock.sleep(PAUSE * attempt);
      stat = lstatSync(target, { bigint: true });
    }
  }
}

function isUnchanged(stat: BigIntStats, { entry, stamp }: Remembered): boolean {
  const same =
    stamp.size === String(stat.size) &&
    stamp.mtime === String(stat.mtimeNs) &&
    stamp.ctime === String(stat.ctimeNs) &&
    stamp.ino === String(stat.ino);
  // The sheet of secrets is made anew each time, and the index does not know it.
  return same && entry.class !== 'secret';
}

function withoutSame({ same: _, ...entry }: FileEntry): FileEntry {
  return entry;
}

function nameOf(path: RelPath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
