import { closeSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs';
import { fill, writeAll } from '../../core/bytes.ts';
import { digestOf, type Digest } from '../../core/digest.ts';
import { openRegular } from './records.ts';

/** Where a block lies in a file of blocks. */
export interface BlockPlace {
  readonly offset: number;
  readonly length: number;
  readonly digest: Digest;
}

/** What an index says of its blocks: in which of two files they lie, and how many bytes of it are in use. */
export interface BlocksState {
  readonly file: 0 | 1;
  readonly used: number;
}

/** A file of blocks of which no more than this is out of use is gone on with. */
const SLACK = 4 * 1024 * 1024;

/** Path of a file of blocks. */
function pathOf(path: string, file: 0 | 1): string {
  return `${path}-${String(file)}`;
}

/** Reads blocks. */
export class BlocksReader {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** Opens a file of blocks; null where there is none. */
  static open(path: string, { file }: BlocksState): BlocksReader | null {
    try {
      const fd = openRegular(pathOf(path, file));
      return fd === null ? null : new BlocksReader(fd);
    } catch {
      return null;
    }
  }

  /** The bytes of a block; null where they are not those that were written. */
  read({ offset, length, digest }: BlockPlace): Buffer | null {
    const bytes = fill(this.#fd, Buffer.allocUnsafe(length), offset);
    return digestOf(bytes) === digest ? bytes : null;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/**
 * Adds blocks behind those that there are, of which nobody knows until an index names them: the index in place is good for
 * its file at any time. Where most of that file is out of use, the blocks that stay are written into the other one.
 */
export class BlocksWriter {
  readonly #path: string;
  readonly #file: 0 | 1;
  readonly #old: BlocksReader | null;
  /** Opened when there is the first block to write. */
  #fd: number | null = null;
  #isOpen = true;
  #end = 0;
  #used = 0;

  constructor(path: string, before: { readonly state: BlocksState; readonly reader: BlocksReader } | null) {
    this.#path = path;
    const isTight = before === null || sizeOf(pathOf(path, before.state.file)) <= 2 * before.state.used + SLACK;
    this.#old = before !== null && !isTight ? before.reader : null;
    this.#file = before === null ? 0 : isTight ? before.state.file : before.state.file === 0 ? 1 : 0;
    if (before !== null && isTight) this.#end = sizeOf(pathOf(path, this.#file));
    else rmSync(pathOf(path, this.#file), { force: true });
  }

  /** Adds a new block. */
  add(block: Buffer): BlockPlace {
    const place = { offset: this.#end, length: block.length, digest: digestOf(block) };
    // What still runs when a walk has failed may not write into a file that was opened since.
    if (this.#isOpen && block.length > 0) {
      this.#fd ??= openSync(pathOf(this.#path, this.#file), 'a', 0o600);
      writeAll(this.#fd, block);
    }
    this.#end += block.length;
    this.#used += block.length;
    return place;
  }

  /** Takes a block over from the file before. */
  keep(place: BlockPlace): BlockPlace {
    if (this.#old !== null) return this.add(this.#old.read(place) ?? Buffer.alloc(0));
    this.#used += place.length;
    return place;
  }

  /** Makes what was added durable. */
  finish(): BlocksState {
    if (this.#fd !== null) fsyncSync(this.#fd);
    this.close();
    return { file: this.#file, used: this.#used };
  }

  /** Removes the other file, when the index that names this one is in place. */
  tidy(): void {
    rmSync(pathOf(this.#path, this.#file === 0 ? 1 : 0), { force: true });
  }

  close(): void {
    this.#isOpen = false;
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
