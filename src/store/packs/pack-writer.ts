import { digestOf, type Digest } from '../../core/digest.ts';
import type { Threads } from '../../core/threads/job.ts';
import { GarbageBudget } from '../../core/memory.ts';
import { newHeader } from '../age.ts';
import { sealedSize } from '../payload.ts';
import type { ChunkIndex } from './chunk-index.ts';
import { ENCODE_FRAME, decodeFrame } from './frame.ts';
import { FrameBuffer } from './frame-buffer.ts';
import { SEAL_PACK, encodeHeader, type FrameEntry, type PackHeader } from './pack.ts';
import type { PackEntry } from './packlist.ts';

/** Encoded bytes at which a pack is closed; with what is in flight then a pack stays under 32 MiB. */
const PACK_SIZE = 8 * 1024 * 1024;
/** Frames that may wait for each thread, so that none is ever idle. */
const AHEAD = 2;

/** Where a sealed pack goes. */
export type PackSink = (pack: { readonly entry: PackEntry; readonly header: PackHeader; readonly bytes: Buffer }) => Promise<void>;

/** A frame that was gathered and encoded elsewhere. */
export interface EncodedFrame {
  readonly chunks: FrameEntry['chunks'];
  readonly raw: number;
  readonly encoded: Uint8Array<ArrayBuffer>;
}

/** A pack, and the buffer that it lies in. */
interface SealedPack {
  readonly pack: Parameters<PackSink>[0];
  readonly room: SharedArrayBuffer;
}

interface Frame {
  readonly entry: Omit<FrameEntry, 'size'>;
  readonly encoded: Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Gathers new chunks into frames and frames into sealed packs. A chunk that the index knows is not written again. Frames
 * are encoded and packs sealed and stored beside what goes on; a failure of either is thrown by `finish` at the latest.
 */
export class PackWriter {
  readonly #index: ChunkIndex;
  readonly #sink: PackSink;
  readonly #key: { readonly id: string; readonly recipient: string };
  readonly #threads: Threads;
  readonly #gathered = new FrameBuffer();
  #chunks: (readonly [Digest, number])[] = [];
  /** New chunks that are in no frame of this writer yet. */
  readonly #claimed = new Set<Digest>();
  readonly #memory = new GarbageBudget();
  #frames: Frame[] = [];
  #packBytes = 0;
  #encoding = 0;
  /** Ends when every pack that was closed is stored. */
  #stored: Promise<void> = Promise.resolve();
  #storing = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #written: PackEntry[] = [];
  /** Buffers of packs that were stored. */
  readonly #spare: SharedArrayBuffer[] = [];

  constructor(options: {
    readonly index: ChunkIndex;
    readonly sink: PackSink;
    readonly key: { readonly id: string; readonly recipient: string };
    readonly threads: Threads;
  }) {
    this.#index = options.index;
    this.#sink = options.sink;
    this.#key = options.key;
    this.#threads = options.threads;
  }

  /** Adds a chunk, copying its bytes before it returns. Resolves when there is room for more. */
  async put(digest: Digest, bytes: Uint8Array): Promise<void> {
    if (!this.claim(digest)) return;
    this.#chunks.push([digest, bytes.length]);
    if (this.#gathered.add(bytes)) this.#closeFrame();
    await this.room();
  }

  /** Whether a chunk is new. Whoever claims it first brings it, in a frame for `addFrame`. */
  claim(digest: Digest): boolean {
    if (this.#index.has(digest) || this.#claimed.has(digest)) return false;
    this.#claimed.add(digest);
    return true;
  }

  /** Adds a frame of chunks that were claimed. */
  addFrame({ chunks, raw, encoded }: EncodedFrame): void {
    this.#place({ raw, chunks }, Promise.resolve(encoded));
    this.#grow(encoded.length);
  }

  /** Resolves when there is room for more; rejects where a pack could not be stored. */
  async room(): Promise<void> {
    while (this.#encoding > AHEAD * this.#threads.width)
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    if (this.#storing > 1) await this.#stored;
  }

  /** A chunk that was put and whose pack is not stored yet, or null. */
  async peek(digest: Digest): Promise<Buffer | null> {
    if (this.#claimed.has(digest)) this.#closeFrame();
    await this.#stored;
    const place = this.#index.table.get(digest);
    const frame = place?.pack === this.#index.nextPack ? this.#frames[place.frame] : undefined;
    if (place === null || frame === undefined) return null;
    return decodeFrame(await frame.encoded, frame.entry.raw).subarray(place.offset, place.offset + place.length);
  }

  /** Puts the top chunk, closes the last pack and returns every pack written, the one with the top last. */
  async finish(top: Buffer): Promise<readonly PackEntry[]> {
    const digest = digestOf(top);
    // The top must lie in the last pack even if an older pack has the same bytes.
    this.#chunks.push([digest, top.length]);
    this.#gathered.add(top);
    this.#closeFrame();
    this.#closePack({ top: digest });
    await this.#stored;
    return this.#written;
  }

  /** Closes the last pack of a fold, which says where the tops of the older packs are, and returns every pack written. */
  async finishFold(tops: Readonly<Record<string, Digest>>): Promise<readonly PackEntry[]> {
    this.#closeFrame();
    if (this.#frames.length > 0 || Object.keys(tops).length > 0) this.#closePack({ tops });
    await this.#stored;
    return this.#written;
  }

  #closeFrame(): void {
    if (this.#chunks.length === 0) return;
    const copy = this.#gathered.take().slice();
    const raw = copy.length;
    const chunks = this.#chunks;
    this.#chunks = [];
    const encoded = this.#threads.run(ENCODE_FRAME, copy, { cost: raw, moves: [copy.buffer] });
    const pack = this.#index.nextPack;
    this.#encoding++;
    this.#place({ raw, chunks }, encoded);
    encoded
      .then(({ length }) => {
        if (pack === this.#index.nextPack) this.#grow(length);
      })
      // A failure is thrown where the pack is sealed.
      .catch(() => undefined)
      .finally(() => {
        this.#encoding--;
        for (const resolve of this.#waiting.splice(0)) resolve();
      });
  }

  #place(entry: Frame['entry'], encoded: Frame['encoded']): void {
    const { table, nextPack: pack } = this.#index;
    const frame = this.#frames.length;
    let offset = 0;
    for (const [digest, length] of entry.chunks) {
      table.add(digest, { pack, frame, offset, length });
      this.#claimed.delete(digest);
      offset += length;
    }
    this.#frames.push({ entry, encoded });
  }

  #grow(bytes: number): void {
    this.#packBytes += bytes;
    if (this.#packBytes >= PACK_SIZE) this.#closePack({});
  }

  #closePack(entrance: Pick<PackHeader, 'top' | 'tops'>): void {
    const frames = this.#frames;
    const number = this.#index.reservePack();
    this.#frames = [];
    this.#packBytes = 0;
    this.#storing++;
    this.#stored = Promise.all([this.#seal(frames, entrance), this.#stored]).then(async ([{ pack, room }]) => {
      // A pack that could not be stored is named nowhere.
      await this.#sink(pack);
      this.#index.namePack(number, pack.entry.digest);
      this.#written.push(pack.entry);
      this.#spare.push(room);
      this.#storing--;
      this.#memory.check();
    });
    // A failure is thrown by whoever waits for it; until then it may not count as unhandled.
    this.#stored.catch(() => undefined);
  }

  async #seal(frames: readonly Frame[], entrance: Pick<PackHeader, 'top' | 'tops'>): Promise<SealedPack> {
    const encoded = await Promise.all(frames.map((frame) => frame.encoded));
    const header: PackHeader = {
      format: 'perdure-pack/1',
      frames: frames.map(({ entry: { chunks, raw } }, at) => ({ chunks, raw, size: encoded[at]?.length ?? 0 })),
      ...entrance,
    };
    const parts = [encodeHeader(header), ...encoded];
    const plain = parts.reduce((sum, { length }) => sum + length, 0);
    const key = await newHeader([this.#key.recipient]);
    const room = this.#room(sealedSize(plain, key.prefix));
    const { size, digest } = await this.#threads.run(
      SEAL_PACK,
      { parts, key, room },
      { cost: plain, moves: encoded.map((frame) => frame.buffer) },
    );
    return { pack: { entry: { digest, size, key: this.#key.id }, header, bytes: Buffer.from(room, 0, size) }, room };
  }

  /** A buffer to seal into: one that was stored already, where it is large enough. */
  #room(size: number): SharedArrayBuffer {
    const spare = this.#spare.pop();
    return spare !== undefined && spare.byteLength >= size ? spare : new SharedArrayBuffer(size + (size >> 3));
  }
}
