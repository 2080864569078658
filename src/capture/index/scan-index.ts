import type { Digest } from '../../core/digest.ts';
import { systemCode } from '../../core/errors.ts';
import type { RelPath } from '../../core/name.ts';
import { loadEntry, type FileEntry, type StoredEntry } from '../../manifest/entry.ts';
import type { FileClass } from '../../profile/profile.ts';
import { BlocksReader, BlocksWriter, type BlockPlace, type BlocksState } from './blocks.ts';
import { RecordsReader, RecordsWriter } from './records.ts';

/** What a file looked like when it was last read: while all of it stays, its content is not read again. */
export interface FileStamp {
  readonly size: string;
  readonly mtime: string;
  readonly ctime: string;
  readonly ino: string;
}

/** What lies in a directory itself, not in those below it. */
export interface DirectoryCount {
  readonly counts: readonly (readonly [FileClass, number])[];
  readonly bytes: string;
  readonly volatile: number;
  readonly host: number;
  /** Names of files with an SQLite header. */
  readonly databases: readonly string[];
}

/** A directory as it was read: `stamp` stands for its names and what each looked like; null where that says too little. */
export interface KnownDirectory {
  readonly stamp: string | null;
  readonly count: DirectoryCount | null;
  /** Where its files are. */
  readonly place: BlockPlace;
}

/** What a directory came to with all that is below it. */
export interface KnownTree {
  readonly pages: readonly Digest[];
  readonly classes: readonly (readonly [FileClass, Digest])[];
}

type Row = readonly [StoredEntry, string, string, string];

/** Orders paths as the walk meets directories: a directory before what is in it, siblings by code unit. */
export function walkOrder(a: string, b: string): number {
  if (a === b) return 0;
  const left = a === '' ? [] : a.split('/');
  const right = b === '' ? [] : b.split('/');
  for (let at = 0; at < left.length && at < right.length; at++) {
    const one = left[at] ?? '';
    const other = right[at] ?? '';
    if (one !== other) return one < other ? -1 : 1;
  }
  return left.length - right.length;
}

/** The order in which directories are finished: what is in a directory before it. */
function finishOrder(a: string, b: string): number {
  if (a === '' || b === '') return a === b ? 0 : a === '' ? 1 : -1;
  if (a.startsWith(`${b}/`)) return -1;
  if (b.startsWith(`${a}/`)) return 1;
  return walkOrder(a, b);
}

/** The block of a directory's files, of which the entries were written. */
export function blockOf(files: readonly (Omit<FileStamp, 'size'> & { readonly text: string })[]): Buffer {
  if (files.length === 0) return Buffer.alloc(0);
  return Buffer.from(`[${files.map(({ text, mtime, ctime, ino }) => `[${text},"${mtime}","${ctime}","${ino}"]`).join(',')}]`);
}

/** Paths of the parts of an index: directories in the order of the walk, in the order in which they are finished, and files. */
function partsOf(path: string): { readonly own: string; readonly whole: string; readonly blocks: string } {
  return { own: path, whole: `${path}-whole`, blocks: `${path}-blocks` };
}

/** What an index is of: a state, and the profile by which its files were classified. */
export interface IndexOf {
  readonly manifest: Digest;
  readonly profile: Digest;
}

/** What the first line of an index says beside that. */
interface Ending extends BlocksState {
  /** Files of class secret. */
  readonly secrets: number;
}

/** Reads the index of the last checkpoint along with the walk: one directory after the other, never whole. */
export class ScanIndexReader {
  readonly #own: RecordsReader;
  readonly #whole: RecordsReader;
  readonly blocks: BlocksReader;
  readonly state: BlocksState;
  /** Files of class secret in that state. */
  readonly secrets: number;

  private constructor(
    own: RecordsReader,
    { whole, blocks, ending }: { readonly whole: RecordsReader; readonly blocks: BlocksReader; readonly ending: Ending },
  ) {
    this.#own = own;
    this.#whole = whole;
    this.blocks = blocks;
    this.state = ending;
    this.secrets = ending.secrets;
  }

  /** Opens the index, where it is of this state; else null. */
  static open(path: string, of: IndexOf): ScanIndexReader | null {
    const parts = partsOf(path);
    const own = RecordsReader.open(parts.own, walkOrder);
    const whole = RecordsReader.open(parts.whole, finishOrder);
    const ending = own === null ? null : endingOf(own.first, of);
    const blocks = ending === null ? null : BlocksReader.open(parts.blocks, ending);
    if (own !== null && whole !== null && ending !== null && blocks !== null && own.first === whole.first)
      return new ScanIndexReader(own, { whole, blocks, ending });
    for (const one of [own, whole, blocks]) one?.close();
    return null;
  }

  /** A directory as it was. Asked for in the order of the walk. */
  directory(path: RelPath): KnownDirectory | null {
    const found = this.#own.find(path);
    if (found === null) return null;
    const [, stamp, count, place] = found as readonly [string, string | null, DirectoryCount | null, BlockPlace];
    return { stamp, count, place };
  }

  /** The files of a directory by name; none where they are damaged, so that they are read again. */
  files({ place }: KnownDirectory): ReadonlyMap<string, { readonly entry: FileEntry; readonly stamp: FileStamp }> {
    try {
      const rows = place.length === 0 ? [] : (JSON.parse(this.blocks.read(place)?.toString('utf8') ?? '[]') as readonly Row[]);
      return new Map(
        rows.map(([stored, mtime, ctime, ino]) => {
          const entry = loadEntry(stored) as FileEntry;
          return [entry.name, { entry, stamp: { size: entry.size, mtime, ctime, ino } }];
        }),
      );
    } catch {
      return new Map();
    }
  }

  /** What a directory came to. Asked for in the order in which directories are finished. */
  whole(path: RelPath): KnownTree | null {
    const found = this.#whole.find(path);
    if (found === null) return null;
    const [, pages, classes] = found as readonly [string, KnownTree['pages'], KnownTree['classes']];
    return { pages, classes };
  }

  close(): void {
    for (const one of [this.#own, this.#whole, this.blocks]) one.close();
  }
}

/** Writes the index of a walk beside the old one; it takes its place when the checkpoint is in the ledger. */
export class ScanIndexWriter {
  readonly #own: RecordsWriter;
  readonly #whole: RecordsWriter;
  readonly #blocks: BlocksWriter;
  readonly #profile: Digest;

  constructor(path: string, profile: Digest, old: ScanIndexReader | null) {
    const { own, whole, blocks } = partsOf(path);
    this.#profile = profile;
    const room = firstLine({ manifest: '0'.repeat(64) as Digest, profile }, { file: 0, used: 0, secrets: 0 }).length;
    this.#own = new RecordsWriter(own, room);
    this.#whole = new RecordsWriter(whole, room);
    this.#blocks = new BlocksWriter(blocks, old === null ? null : { state: old.state, reader: old.blocks });
  }

  /** Notes what a directory itself holds: its files as they were, or as a new block. */
  directory(path: RelPath, { stamp, count }: Omit<KnownDirectory, 'place'>, files: BlockPlace | Buffer): void {
    this.#own.add([path, stamp, count, Buffer.isBuffer(files) ? this.#blocks.add(files) : this.#blocks.keep(files)]);
  }

  whole(path: RelPath, { pages, classes }: KnownTree): void {
    this.#whole.add([path, pages, classes]);
  }

  /** Puts the index in place as that of the state `manifest` with so many secret files. */
  commit(manifest: Digest, secrets: number): void {
    const line = firstLine({ manifest, profile: this.#profile }, { ...this.#blocks.finish(), secrets });
    // A crash between the two leaves parts that do not fit, and no index.
    this.#whole.commit(line);
    this.#own.commit(line);
    this.#blocks.tidy();
  }

  /** Commits, or throws the index away. It is a cache: that it cannot be written takes nothing from what was recorded. */
  end(of: { readonly manifest: Digest; readonly secrets: number } | null): void {
    try {
      if (of === null) this.#discard();
      else this.commit(of.manifest, of.secrets);
    } catch (error) {
      if (systemCode(error) === undefined) throw error;
    }
  }

  #discard(): void {
    this.#own.discard();
    this.#whole.discard();
    this.#blocks.close();
  }
}

/** Numbers of the first line stand in as many places. */
const DIGITS = 15;

function firstLine({ manifest, profile }: IndexOf, { file, used, secrets }: Ending): string {
  return [`perdure-index 2 ${manifest} ${profile}`, ...[file, used, secrets].map((one) => String(one).padStart(DIGITS))].join(' ');
}

/** What a first line says, where it is of this state; else null. */
function endingOf(line: string, { manifest, profile }: IndexOf): Ending | null {
  const start = `perdure-index 2 ${manifest} ${profile} `;
  if (!line.startsWith(start)) return null;
  const [file = NaN, used = NaN, secrets = NaN] = line.slice(start.length).trim().split(/ +/).map(Number);
  return { file: file === 0 ? 0 : 1, used, secrets };
}
