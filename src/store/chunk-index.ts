import type { Digest } from '../core/digest.ts';
import { digestOf } from '../core/digest.ts';
import type { Files } from '../core/files.ts';
import { ChunkTable } from './chunk-table.ts';
import type { PackHeader } from './pack.ts';

const RECORD = 44;
const HEAD = 36;
const SUM = 8;

/**
 * Which chunks lie in which packs: in memory a table, on disk a cache of blocks, one a pack, each with a check sum. What
 * the cache lacks is read from the packs again; a damaged block and what follows it count as lacking.
 */
export class ChunkIndex {
  readonly table = new ChunkTable();
  readonly #packs: Digest[] = [];
  readonly #numbers = new Map<Digest, number>();

  /** Reads the cache file, keeping only packs of `wanted`. */
  static async load(files: Files, path: string, wanted: ReadonlySet<Digest>): Promise<ChunkIndex> {
    const index = new ChunkIndex();
    const bytes = (await files.readIfPresent(path)) ?? Buffer.alloc(0);
    for (const { pack, records } of blocksOf(bytes)) if (wanted.has(pack)) index.#addBlock(pack, records);
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
  addPack(digest: Digest, header: PackHeader): void {
    this.#addBlock(digest, recordsOf(header));
  }

  /** The number that the pack now being written will have. */
  get nextPack(): number {
    return this.#packs.length;
  }

  /** Names the pack whose chunks were already added under `nextPack`. */
  namePack(digest: Digest): void {
    this.#numbers.set(digest, this.#packs.length);
    this.#packs.push(digest);
  }

  /** Whether the chunk is known. */
  has(digest: Digest): boolean {
    return this.table.get(digest) !== null;
  }

  #addBlock(pack: Digest, records: Buffer): void {
    const number = this.#packs.length;
    this.namePack(pack);
    for (let at = 0; at < records.length; at += RECORD)
      this.table.add(records.toString('hex', at, at + 32) as Digest, {
        pack: number,
        frame: records.readUInt32LE(at + 32),
        offset: records.readUInt32LE(at + 36),
        length: records.readUInt32LE(at + 40),
      });
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
export function indexBlock(digest: Digest, header: PackHeader): Buffer {
  const records = recordsOf(header);
  const head = Buffer.alloc(HEAD);
  Buffer.from(digest, 'hex').copy(head);
  head.writeUInt32LE(records.length / RECORD, 32);
  const body = Buffer.concat([head, records]);
  return Buffer.concat([body, Buffer.from(digestOf(body).slice(0, 2 * SUM), 'hex')]);
}

function recordsOf(header: PackHeader): Buffer {
  const count = header.frames.reduce((sum, frame) => sum + frame.chunks.length, 0);
  const out = Buffer.alloc(count * RECORD);
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
