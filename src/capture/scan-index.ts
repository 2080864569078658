import { closeSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { parseJson } from '../core/canonical.ts';
import type { Digest } from '../core/digest.ts';
import type { RelPath } from '../core/name.ts';
import { loadEntry, storeEntry, type FileEntry, type StoredEntry } from '../manifest/entry.ts';

/** What a file looked like when it was last read: while all of it stays, its content is not read again. */
export interface FileStamp {
  readonly size: string;
  readonly mtime: string;
  readonly ctime: string;
  readonly ino: string;
}

type Row = readonly [StoredEntry, string, string, string];
type DirectoryRow = readonly [root: string, path: string, files: readonly Row[]];

const READ = 1 << 20;

/** Orders paths as the walk meets directories: a directory before what is in it, siblings by code unit. */
function walkOrder(a: string, b: string): number {
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

/** Reads the index of the last checkpoint along with the walk: one directory after the other, never whole. */
export class ScanIndexReader {
  readonly #fd: number;
  #rest = '';
  #ended = false;
  #row: DirectoryRow | null = null;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Opens the index, where it is of the state `manifest`; else null. */
  static open(path: string, manifest: Digest | null): ScanIndexReader | null {
    if (manifest === null) return null;
    let fd: number;
    try {
      fd = openSync(path, 'r');
    } catch {
      return null;
    }
    const reader = new ScanIndexReader(fd);
    if (reader.#line() === `perdure-index 1 ${manifest}`) {
      reader.#advance();
      return reader;
    }
    reader.close();
    return null;
  }

  /** The files of a directory as they were, by name. Directories are asked for in walk order. */
  directory(root: string, path: RelPath): ReadonlyMap<string, { readonly entry: FileEntry; readonly stamp: FileStamp }> {
    while (this.#row !== null && (this.#row[0] < root || (this.#row[0] === root && walkOrder(this.#row[1], path) < 0))) this.#advance();
    if (this.#row?.[0] !== root || this.#row[1] !== path) return new Map();
    return new Map(
      this.#row[2].map(([stored, mtime, ctime, ino]) => {
        const entry = loadEntry(stored) as FileEntry;
        return [entry.name, { entry, stamp: { size: entry.size, mtime, ctime, ino } }];
      }),
    );
  }

  close(): void {
    closeSync(this.#fd);
  }

  #advance(): void {
    const line = this.#line();
    const value = line === null ? undefined : parseJson(line);
    this.#row = Array.isArray(value) ? (value as unknown as DirectoryRow) : null;
  }

  #line(): string | null {
    for (;;) {
      const end = this.#rest.indexOf('\n');
      if (end >= 0) {
        const line = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end + 1);
        return line;
      }
      if (this.#ended) return null;
      const bytes = Buffer.allocUnsafe(READ);
      const got = readSync(this.#fd, bytes, 0, READ, null);
      this.#ended = got === 0;
      // The index escapes what is not ASCII, so that a read never cuts a character.
      this.#rest += bytes.toString('latin1', 0, got);
    }
  }
}

/** Writes the index of a walk beside the old one; it takes its place when the checkpoint is in the ledger. */
export class ScanIndexWriter {
  readonly #path: string;
  readonly #temporary: string;
  readonly #fd: number;
  #buffer: string[] = [];
  #size = 0;

  constructor(path: string) {
    this.#path = path;
    this.#temporary = `${path}.tmp`;
    this.#fd = openSync(this.#temporary, 'w', 0o600);
    // Room for the first line, which names a state that is not known yet.
    writeSync(this.#fd, `${' '.repeat(headerLine('0'.repeat(64)).length)}\n`);
  }

  directory(root: string, path: RelPath, files: readonly { readonly entry: FileEntry; readonly stamp: FileStamp }[]): void {
    if (files.length === 0) return;
    const row: DirectoryRow = [root, path, files.map(({ entry, stamp }) => [storeEntry(entry), stamp.mtime, stamp.ctime, stamp.ino])];
    const line = escapeNonAscii(JSON.stringify(row));
    this.#buffer.push(line);
    this.#size += line.length;
    if (this.#size > READ) this.#flush();
  }

  /** Puts the index in place as that of the state `manifest`. */
  commit(manifest: Digest): void {
    this.#flush();
    writeSync(this.#fd, headerLine(manifest), 0);
    fsyncSync(this.#fd);
    closeSync(this.#fd);
    renameSync(this.#temporary, this.#path);
  }

  discard(): void {
    closeSync(this.#fd);
    rmSync(this.#temporary, { force: true });
  }

  #flush(): void {
    if (this.#buffer.length > 0) writeSync(this.#fd, `${this.#buffer.join('\n')}\n`);
    this.#buffer = [];
    this.#size = 0;
  }
}

function headerLine(manifest: string): string {
  return `perdure-index 1 ${manifest}`;
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
