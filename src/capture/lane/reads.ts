import { createHash, type Hash } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import { fill } from '../../core/bytes.ts';
import { systemCode } from '../../core/errors.ts';
import { PART, type LaneFile, type LanePart } from './messages.ts';
import { CUT, DATABASE_CUT, headerOf, openPlain, piecesOf, type HeaderKind } from './pieces.ts';

/** The columns of a part. */
export type Columns = Omit<LanePart, 'kind' | 'part' | 'batch' | 'isLast'>;

/** Gathers what was read of the files of a part. */
export class Reads {
  readonly #chunks: number[] = [];
  readonly #headers: HeaderKind[] = [];
  readonly #versions: bigint[] = [];
  readonly #wholes: Buffer[] = [];
  readonly #digests: Buffer[] = [];
  readonly #lengths: number[] = [];
  readonly #errors = new Map<number, string>();

  /** Reads one file; what the system says against it is noted, and null is returned. */
  tried<T>(read: () => T): T | null {
    const files = this.#chunks.length;
    try {
      return read();
    } catch (error) {
      const code = systemCode(error);
      if (code === undefined || this.#chunks.length > files) throw error;
      this.#errors.set(files, code);
      this.#chunks.push(0);
      this.#headers.push(undefined);
      this.#whole(null);
      return null;
    }
  }

  /** Adds what was read of a file; `whole` with its last part, or nothing where the digest is that of its only chunk. */
  add(
    pieces: Iterable<Buffer>,
    header: HeaderKind,
    whole: { readonly version: Version; readonly digest: (only: Buffer | null) => Buffer } | null,
  ): void {
    const before = this.#lengths.length;
    let last: Buffer | null = null;
    for (const piece of pieces) {
      last = createHash('sha256').update(piece).digest();
      this.#digests.push(last);
      this.#lengths.push(piece.length);
    }
    const count = this.#lengths.length - before;
    this.#chunks.push(count);
    this.#headers.push(header);
    this.#whole(whole === null ? null : { version: whole.version, digest: whole.digest(count === 1 ? last : null) });
  }

  #whole(whole: { readonly version: Version; readonly digest: Buffer } | null): void {
    this.#versions.push(...(whole?.version ?? [0n, 0n, 0n, 0n, 0n]));
    this.#wholes.push(whole?.digest ?? NOTHING);
  }

  end(): Columns {
    return {
      chunks: Uint32Array.from(this.#chunks),
      headers: this.#headers,
      versions: BigInt64Array.from(this.#versions),
      wholes: joined(this.#wholes),
      digests: joined(this.#digests),
      lengths: Uint32Array.from(this.#lengths),
      errors: this.#errors,
    };
  }
}

const NOTHING = Buffer.alloc(32);

/** In a buffer of its own: of a pooled one all would be sent. */
function joined(digests: readonly Buffer[]): Buffer {
  const bytes = Buffer.allocUnsafeSlow(digests.length * 32);
  for (const [at, digest] of digests.entries()) digest.copy(bytes, at * 32);
  return bytes;
}

/** Reads a file that fits into a part; returns its length. */
export function readSmall(
  path: LaneFile['path'],
  { room, reads, cuts }: { readonly room: Buffer; readonly reads: Reads; readonly cuts: boolean },
): number {
  const fd = openRegular(path);
  try {
    const bytes = fill(fd, room, 0);
    const header = headerOf(bytes);
    const whole = {
      version: versionOf(fd),
      digest: (only: Buffer | null) => only ?? createHash('sha256').update(bytes).digest(),
    };
    reads.add(cuts ? piecesOf(bytes, { cut: cutOf(header), isLast: true }) : [], header, whole);
    return bytes.length;
  } finally {
    closeSync(fd);
  }
}

/** A file that is read part by part. */
export class LongFile {
  readonly batch: number;
  readonly #file: LaneFile;
  readonly #cuts: boolean;
  readonly #hash: Hash = createHash('sha256');
  #fd: number | null = null;
  #cut = CUT;
  #at = 0;

  constructor(batch: number, file: LaneFile, cuts: boolean) {
    this.#cuts = cuts;
    this.batch = batch;
    this.#file = file;
  }

  /** Reads the next part; returns whether it was the last. */
  next(buffer: Buffer, reads: Reads): boolean {
    this.#fd ??= openRegular(this.#file.path);
    const wanted = Math.min(PART, this.#file.size - this.#at);
    const bytes = fill(this.#fd, buffer.subarray(0, wanted), this.#at);
    const header = this.#at === 0 ? headerOf(bytes) : undefined;
    if (this.#at === 0) this.#cut = cutOf(header);
    this.#at += bytes.length;
    // One that became shorter ends here.
    const isLast = this.#at === this.#file.size || bytes.length < wanted;
    const version = isLast ? versionOf(this.#fd) : null;
    this.#hash.update(bytes);
    reads.add(
      this.#cuts ? piecesOf(bytes, { cut: this.#cut, isLast }) : [],
      header,
      version === null ? null : { version, digest: () => this.#hash.digest() },
    );
    return isLast;
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }
}

/** Device, inode, size, mtime and ctime. */
type Version = readonly [bigint, bigint, bigint, bigint, bigint];

function openRegular(path: LaneFile['path']): number {
  const fd = openPlain(path);
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw Object.assign(new Error('no regular file'), { code: 'ENOENT' });
}

function cutOf(header: HeaderKind): number {
  return header === 'sqlite' ? DATABASE_CUT : CUT;
}

function versionOf(fd: number): Version {
  const { dev, ino, size, mtimeNs, ctimeNs } = fstatSync(fd, { bigint: true });
  return [dev, ino, size, mtimeNs, ctimeNs];
}
