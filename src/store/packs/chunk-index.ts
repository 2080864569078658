import type { Digest } from '../../core/digest.ts';
import { digestOf } from '../../core/digest.ts';
import type { Files } from '../../core/files.ts';
import { ChunkTable, RECORD } from './chunk-table.ts';
import type { PackHeader } from './pack.ts';

const HEAD = 36;
const SUM = 8;

/**
 * Which chunks lie in which packs: in memory a table, on disk a cache of blocks, one a pack, each with a check sum. What
 * the cache lacks is read from the packs again; a damaged block and what follows it count as lacking.
 */
export class ChunkIndex {
  readonly table: ChunkTable;
  readonly #packs: (Digest | undefined)[] = [];
  readonly #numbers = new Map<Digest, number>();

  /** An index for about so many chunks; more make it grow. */
  constructor(expected = 0) {
    this.table = new ChunkTable(expected);
  }

  /** Reads the cache file, keeping only packs of `wanted`. */
  static async load(files: Files, path: string, wanted: ReadonlySet<Digest>): Promise<ChunkIndex> {
    const bytes = (await files.readIfPresent(path)) ?? Buffer.alloc(0);
    const index = new ChunkIndex(bytes.length / RECORD);
    for (const { pack, records } of blocksOf(bytes)) if (wanted.has(pack)) index.addRecords(pack, records);
    return index;
  }

  /** Rewrites the cache file without the blocks of packs that are not wanted. */
  static async compact(files: Files, path: string, wanted: ReadonlySet<Digest>): Promise<void> {
    const bytes = await files.readIfPresent(path);
    if (bytes === null) return;
    const blocks: Buffer[] = [];
    for (const block of blocksOf(bytes)) if (wanted.has(block.pack)) blocks.push(block.bytes);
    await files.replace(path, Buffer.concat(blocks));
  }

  hasPack(digest: Digest): boolean {
    return this.#numbers.has(digest);
  }

  /** The pack with this number. */
  pack(number: number): Digest | undefined {
    return this.#packs[number];
  }

  /** Adds the chunks of a pack that was opened. */
  addPack(digest: Digest, header: Pick<PackHeader, 'frames'>): void {
    this.addRecords(digest, recordsOf(header));
  }

  /** The same from records. */
  addRecords(digest: Digest, records: Buffer): void {
    const number = this.reservePack();
    this.namePack(number, digest);
    this.table.addRecords(records, number);
  }

  /** The number that the pack now being gathered will have. */
  get nextPack(): number {
    return this.#packs.length;
  }

  /** Ends a pack whose chunks were added under `nextPack`, and gives its number: it is named when it is stored. */
  reservePack(): number {
    return this.#packs.push(undefined) - 1;
  }

  /** Names a pack. */
  namePack(number: number, digest: Digest): void {
    this.#numbers.set(digest, number);
    this.#packs[number] = digest;
  }

  /** Whether the chunk is known. */
  has(digest: Digest): boolean {
    return this.table.has(digest);
  }
}

/** The blocks of a cache file, up to the first that is damaged. */
function* blocksOf(bytes: Buffer): Generator<{ readonly pack: Digest; readonly records: Buffer; readonly bytes: Buffer }> {
  for (let at = 0; at + HEAD <= bytes.length;) {
    const count = bytes.readUInt32LE(at + 32);
    const end = at + HEAD + count * RECORD;
    if (end + SUM > bytes.length || digestOf(bytes.subarray(at, end)).slice(0, 2 * SUM) !== bytes.toString('hex', end, end + SUM)) return;
    yield {
      pack: bytes.toString('hex', at, at + 32) as Digest,
      records: bytes.subarray(at + HEAD, end),
      bytes: bytes.subarray(at, end + SUM),
    };
    at = end + SUM;
  }
}

/** The block of one pack, to be appended to the cache file. */
export function indexBlock(digest: Digest, records: Buffer): Buffer {
  const head = Buffer.alloc(HEAD);
  Buffer.from(digest, 'hex').copy(head);
  head.writeUInt32LE(records.length / RECORD, 32);
  const body = Buffer.concat([head, records]);
  return Buffer.concat([body, Buffer.from(digestOf(body).slice(0, 2 * SUM), 'hex')]);
}

/** The records of all chunks of a pack, in a buffer of its own: digest, frame, offset and length of each. */
export function recordsOf(header: Pick<PackHeader, 'frames'>): Buffer<ArrayBuffer> {
  const count = header.frames.reduce((sum, frame) => sum + frame.chunks.length, 0);
  const out = Buffer.from(new ArrayBuffer(count * RECORD));
  let at = 0;
  header.frames.forEach((frame, number) => {
    let offset = 0;
    for (const [digest, size] of frame.chunks) {
      out.write(digest, at, 'hex');
      out.writeUInt32LE(number, at + 32);
      out.writeUInt32LE(offset, at + 36);
      out.writeUInt32LE(size, at + 40);
      offset += size;
      at += RECORD;
    }
  });
  return out;
}
