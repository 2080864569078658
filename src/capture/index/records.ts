import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { writeAll } from '../../core/bytes.ts';
import { parseJson } from '../../core/canonical.ts';
import { digestOf } from '../../core/digest.ts';

/** Bytes that are read or written at a time. */
const PART = 256 * 1024;

/** Reads a file of lines of JSON that each begin with a path, in the order of their paths, after a first line; never whole. */
export class RecordsReader {
  readonly #fd: number;
  readonly #order: (a: string, b: string) => number;
  readonly #room = Buffer.allocUnsafe(PART);
  #text = '';
  #ended = false;
  #record: readonly unknown[] | null = null;
  /** The first line. */
  readonly first: string;

  private constructor(fd: number, order: (a: string, b: string) => number) {
    this.#fd = fd;
    this.#order = order;
    this.first = textOf(this.#line() ?? '') ?? '';
    this.#advance();
  }

  /** Opens a file whose paths are in this order; null where there is none. */
  static open(path: string, order: (a: string, b: string) => number): RecordsReader | null {
    try {
      const fd = openRegular(path);
      return fd === null ? null : new RecordsReader(fd, order);
    } catch {
      return null;
    }
  }

  /** The record of a path, or null. Paths are asked for in order. */
  find(path: string): readonly unknown[] | null {
    while (this.#record !== null && this.#order(String(this.#record[0]), path) < 0) this.#advance();
    return this.#record?.[0] === path ? this.#record : null;
  }

  close(): void {
    closeSync(this.#fd);
  }

  #advance(): void {
    const line = this.#line();
    const value = line === null ? undefined : parseJson(textOf(line) ?? '');
    // Behind a record that is damaged nothing is believed.
    this.#ended ||= !Array.isArray(value);
    this.#record = Array.isArray(value) ? value : null;
    if (this.#record === null) this.#text = '';
  }

  #line(): string | null {
    for (;;) {
      const end = this.#text.indexOf('\n');
      if (end >= 0) {
        const line = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 1);
        return line;
      }
      if (this.#ended) return null;
      const got = readSync(this.#fd, this.#room, 0, PART, null);
      this.#ended = got === 0;
      // What is not ASCII was escaped, so that a read never cuts a character.
      this.#text += this.#room.toString('latin1', 0, got);
    }
  }
}

/** Writes such a file beside the one that it takes the place of. */
export class RecordsWriter {
  readonly #path: string;
  readonly #temporary: string;
  readonly #fd: number;
  #isOpen = true;
  #lines: string[] = [];
  #size = 0;

  /** `room` is the length of the first line, which is known when all is written. */
  constructor(path: string, room: number) {
    this.#path = path;
    this.#temporary = `${path}.tmp`;
    this.#fd = openSync(this.#temporary, 'w', 0o600);
    writeSync(this.#fd, `${' '.repeat(room + SUM + 1)}\n`);
  }

  /** Adds a record; in order of the paths with which records begin. */
  add(record: readonly unknown[]): void {
    // What still runs when a walk has failed may not write into a file that was opened since.
    if (!this.#isOpen) return;
    const line = summed(escapeNonAscii(JSON.stringify(record)));
    this.#lines.push(line);
    this.#size += line.length;
    if (this.#size > PART) this.#flush();
  }

  /** Writes the first line and puts the file in place, durably. */
  commit(line: string): void {
    this.#flush();
    writeSync(this.#fd, summed(line), 0);
    fsyncSync(this.#fd);
    this.#close();
    renameSync(this.#temporary, this.#path);
  }

  discard(): void {
    this.#close();
    rmSync(this.#temporary, { force: true });
  }

  #close(): void {
    this.#isOpen = false;
    closeSync(this.#fd);
  }

  #flush(): void {
    if (this.#lines.length > 0) writeAll(this.#fd, Buffer.from(`${this.#lines.join('\n')}\n`));
    this.#lines = [];
    this.#size = 0;
  }
}

/** Digits of the check sum with which each line ends: a flipped bit in a cache may not come into a record. */
const SUM = 16;

function summed(text: string): string {
  return `${text} ${digestOf(text).slice(0, SUM)}`;
}

/** What stands before the check sum of a line; null where it does not fit. */
function textOf(line: string): string | null {
  const text = line.slice(0, -SUM - 1);
  return summed(text) === line ? text : null;
}

/** Opens a regular file; null where there is something else. */
export function openRegular(path: string): number | null {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  return null;
}

function escapeNonAscii(json: string): string {
  return json.replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
