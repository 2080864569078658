import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { GarbageBudget } from '../core/memory.ts';
import { seal } from './age.ts';
import type { ChunkIndex } from './chunk-index.ts';
import { FRAME_LIMIT, decodeFrame, encodeFrame } from './frame.ts';
import { encodePack, type FrameEntry, type PackHeader } from './pack.ts';
import type { PackEntry } from './packlist.ts';

/** Plaintext bytes that share a frame. */
const FRAME_SIZE = 256 * 1024;
/** Encoded bytes at which a pack is closed; with the frames in flight a pack stays under 32 MiB. */
const PACK_SIZE = 16 * 1024 * 1024;
const IN_FLIGHT = 3;
/** A chunk comes into a frame behind less than FRAME_SIZE of others. */
const CHUNK_LIMIT = FRAME_LIMIT - FRAME_SIZE;
/** Room of a frame: what is gathered, and one more chunk of any size that a writer cuts. */
const FRAME_ROOM = 2 * FRAME_SIZE;

/** Where a sealed pack goes. */
export type PackSink = (pack: { readonly entry: PackEntry; readonly header: PackHeader; readonly bytes: Buffer }) => Promise<void>;

/** Gathers new chunks into frames and frames into sealed packs. A chunk that the index knows is not written again. */
export class PackWriter {
  readonly #index: ChunkIndex;
  readonly #sink: PackSink;
  readonly #key: { readonly id: string; readonly recipient: string };
  #chunks: (readonly [Digest, number])[] = [];
  #chunkBytes = 0;
  /** Frame buffers are used again: a new one for each frame would cost more memory than all else. */
  #buffer: Buffer = Buffer.allocUnsafe(FRAME_ROOM);
  readonly #spare: Buffer[] = [];
  readonly #memory = new GarbageBudget();
  #frames: { readonly entry: Omit<FrameEntry, 'size'>; readonly encoded: Promise<Buffer> }[] = [];
  #packBytes = 0;
  readonly #written: PackEntry[] = [];

  constructor(options: {
    readonly index: ChunkIndex;
    readonly sink: PackSink;
    readonly key: { readonly id: string; readonly recipient: string };
  }) {
    this.#index = options.index;
    this.#sink = options.sink;
    this.#key = options.key;
  }

  /** Adds a chunk, copying its bytes before it returns. Resolves when there is room for more. */
  async put(digest: Digest, bytes: Buffer): Promise<void> {
    if (this.#index.has(digest)) return;
    this.#gather(digest, bytes);
    if (this.#chunkBytes < FRAME_SIZE) return;
    await this.#closeFrame();
    if (this.#packBytes >= PACK_SIZE) await this.#closePack({});
  }

  /** A chunk that was put and whose pack is not sealed yet, or null. */
  async peek(digest: Digest): Promise<Buffer | null> {
    const place = this.#index.table.get(digest);
    if (place?.pack !== this.#index.nextPack) return null;
    const frame = this.#frames[place.frame];
    if (frame === undefined) return Buffer.from(this.#buffer.subarray(place.offset, place.offset + place.length));
    return decodeFrame(await frame.encoded, frame.entry.raw).subarray(place.offset, place.offset + place.length);
  }

  /** Puts the top chunk, closes the last pack and returns every pack written, the one with the top last. */
  async finish(top: Buffer): Promise<readonly PackEntry[]> {
    const digest = digestOf(top);
    // The top must lie in the last pack even if an older pack has the same bytes.
    this.#gather(digest, top);
    await this.#closePack({ top: digest });
    return this.#written;
  }

  /** Closes the last pack of a fold, which says where the tops of the older packs are, and returns every pack written. */
  async finishFold(tops: Readonly<Record<string, Digest>>): Promise<readonly PackEntry[]> {
    if (this.#chunks.length > 0 || this.#frames.length > 0 || Object.keys(tops).length > 0) await this.#closePack({ tops });
    return this.#written;
  }

  #gather(digest: Digest, bytes: Buffer): void {
    if (bytes.length > CHUNK_LIMIT)
      throw new AgentError('INTERNAL', `a chunk of ${String(bytes.length)} bytes is larger than a reader accepts`);
    const place = { pack: this.#index.nextPack, frame: this.#frames.length, offset: this.#chunkBytes, length: bytes.length };
    this.#index.table.add(digest, place);
    if (this.#chunkBytes + bytes.length > this.#buffer.length)
      this.#buffer = Buffer.concat([this.#buffer], this.#chunkBytes + bytes.length);
    bytes.copy(this.#buffer, this.#chunkBytes);
    this.#chunks.push([digest, bytes.length]);
    this.#chunkBytes += bytes.length;
  }

  async #closeFrame(): Promise<void> {
    if (this.#chunks.length === 0) return;
    const buffer = this.#buffer;
    const encoded = encodeFrame(buffer.subarray(0, this.#chunkBytes)).finally(() => {
      this.#spare.push(buffer);
    });
    // A failure is seen where the pack is closed; until then it may not count as unhandled.
    encoded.catch(() => undefined);
    this.#frames.push({ entry: { raw: this.#chunkBytes, chunks: this.#chunks }, encoded });
    this.#chunks = [];
    this.#chunkBytes = 0;
    const settled = this.#frames.at(-IN_FLIGHT);
    if (settled !== undefined) this.#packBytes += (await settled.encoded).length;
    this.#buffer = this.#spare.pop() ?? Buffer.allocUnsafe(FRAME_ROOM);
  }

  async #closePack(entrance: Pick<PackHeader, 'top' | 'tops'>): Promise<void> {
    await this.#closeFrame();
    const encoded = await Promise.all(this.#frames.map((frame) => frame.encoded));
    const header: PackHeader = {
      format: 'perdure-pack/1',
      frames: this.#frames.map(({ entry }, at) => ({ ...entry, size: encoded[at]?.length ?? 0 })),
      ...entrance,
    };
    this.#frames = [];
    this.#packBytes = 0;
    const bytes = await seal(encodePack(header, encoded), [this.#key.recipient]);
    const entry = { digest: digestOf(bytes), size: bytes.length, key: this.#key.id };
    // A pack that could not be stored is named nowhere.
    await this.#sink({ entry, header, bytes });
    this.#index.namePack(entry.digest);
    this.#written.push(entry);
    this.#memory.released(3 * bytes.length);
  }
}
