import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { GarbageBudget } from '../core/memory.ts';
import { open } from './age.ts';
import { ChunkIndex } from './chunk-index.ts';
import type { Folds } from './folds.ts';
import { packFile } from './layout.ts';
import { decodePack, type OpenPack } from './pack.ts';
import type { PackEntry } from './packlist.ts';

/** Opened packs together stay under about this many bytes. */
const PACK_BUDGET = 24 * 1024 * 1024;
const FRAME_BUDGET = 8 * 1024 * 1024;

/** Opens a pack: its bytes are what its name says, it is sealed to the key, its inside is well formed. */
async function openPack(
  read: (name: string) => Promise<Buffer | null>,
  entry: PackEntry,
  identity: string,
): Promise<OpenPack & { readonly bytes: number }> {
  const file = await read(packFile(entry.digest));
  if (file === null) throw new AgentError('BUNDLE_INCOMPLETE', `pack ${entry.digest.slice(0, 12)} is missing`);
  if (digestOf(file) !== entry.digest) throw new AgentError('PACK_DAMAGED', `pack ${entry.digest.slice(0, 12)} is not what its name says`);
  const opened = await open(file, [identity]);
  if ('refused' in opened)
    throw new AgentError('PACK_DAMAGED', `pack ${entry.digest.slice(0, 12)} does not open with store key ${entry.key}`);
  return { ...decodePack(opened.plaintext), bytes: opened.plaintext.length };
}

/** Reads chunks out of sealed packs, opening each pack when it is needed and keeping the last few. */
export class ObjectSource {
  readonly #read: (name: string) => Promise<Buffer | null>;
  readonly #keys: Map<string, string>;
  readonly #entries: Map<Digest, PackEntry>;
  readonly #packs = new Budget<Digest, OpenPack>(PACK_BUDGET);
  readonly #frames = new Budget<string, Buffer>(FRAME_BUDGET);
  readonly #memory = new GarbageBudget();
  readonly #folds: Folds | undefined;
  readonly index: ChunkIndex;

  constructor(options: {
    readonly read: (name: string) => Promise<Buffer | null>;
    /** Store key id to its age identity. */
    readonly keys: ReadonlyMap<string, string>;
    readonly packs: readonly PackEntry[];
    readonly index?: ChunkIndex;
    /** Which packs took the place of those that a state enters by. */
    readonly folds?: Folds;
  }) {
    this.#read = options.read;
    this.#keys = new Map(options.keys);
    this.#entries = new Map(options.packs.map((entry) => [entry.digest, entry]));
    this.#folds = options.folds;
    this.index = options.index ?? new ChunkIndex();
  }

  /** Makes a pack readable that was written just now, with the key that it is sealed to. */
  addWritten(entry: PackEntry, identity: string): void {
    this.#entries.set(entry.digest, entry);
    this.#keys.set(entry.key, identity);
  }

  /** Learns the chunks of every pack that a key opens; packs that the index knows already are not opened. */
  async learn(onPack: (entry: PackEntry, pack: OpenPack) => Promise<void> | void = () => undefined): Promise<void> {
    for (const entry of this.#entries.values()) {
      if (this.index.hasPack(entry.digest) || !this.#keys.has(entry.key)) continue;
      const pack = await this.#pack(entry.digest);
      this.index.addPack(entry.digest, pack.header);
      await onPack(entry, pack);
    }
  }

  /** Opens every pack that a key opens, known or not, for a check of all that is in it. */
  async each(onPack: (entry: PackEntry, pack: OpenPack) => void): Promise<void> {
    for (const entry of this.#entries.values()) {
      if (!this.#keys.has(entry.key)) continue;
      const pack = await this.#pack(entry.digest);
      if (!this.index.hasPack(entry.digest)) this.index.addPack(entry.digest, pack.header);
      onPack(entry, pack);
    }
  }

  /** The bytes of a chunk, checked against its digest; throws BUNDLE_INCOMPLETE where no pack has it. */
  async chunk(digest: Digest): Promise<Buffer> {
    const place = this.index.table.get(digest);
    const packDigest = place === null ? undefined : this.index.pack(place.pack);
    if (place === null || packDigest === undefined)
      throw new AgentError('BUNDLE_INCOMPLETE', `chunk ${digest.slice(0, 12)} is in no pack that opens`);
    const name = `${packDigest}/${String(place.frame)}`;
    let frame = this.#frames.get(name);
    if (frame === undefined) {
      frame = (await this.#pack(packDigest)).frame(place.frame);
      this.#frames.set(name, frame, frame.length);
    }
    const bytes = frame.subarray(place.offset, place.offset + place.length);
    if (digestOf(bytes) !== digest) throw new AgentError('PACK_DAMAGED', `chunk ${digest.slice(0, 12)} is not what its digest says`);
    return bytes;
  }

  /** The top chunk of a pack: where a state is entered. */
  async top(digest: Digest): Promise<Buffer> {
    return this.chunk(await this.topDigest(digest));
  }

  /** The digest of that chunk. */
  async topDigest(digest: Digest): Promise<Digest> {
    let top: Digest | undefined;
    for (const { digest: at } of this.#folds?.of(digest) ?? [{ digest }]) {
      const { header } = await this.#pack(at);
      if (!this.index.hasPack(at)) this.index.addPack(at, header);
      top = header.tops?.[digest] ?? (at === digest ? header.top : top);
    }
    if (top === undefined) throw new AgentError('PACK_DAMAGED', `pack ${digest.slice(0, 12)} has no top`);
    return top;
  }

  /** The header of a pack: what chunks it holds. */
  async header(digest: Digest): Promise<OpenPack['header']> {
    return (await this.#pack(digest)).header;
  }

  async #pack(digest: Digest): Promise<OpenPack> {
    const kept = this.#packs.get(digest);
    if (kept !== undefined) return kept;
    const entry = this.#entries.get(digest);
    if (entry === undefined) throw new AgentError('BUNDLE_INCOMPLETE', `pack ${digest.slice(0, 12)} is in no pack list`);
    const identity = this.#keys.get(entry.key);
    if (identity === undefined) throw new AgentError('KEY_UNFIT', `no key of this host opens store key ${entry.key}`);
    const pack = await openPack(this.#read, entry, identity);
    // The sealed bytes, and the parts in which they were decrypted.
    this.#memory.released(2 * entry.size);
    this.#packs.set(digest, pack, pack.bytes);
    return pack;
  }
}

/** Keeps the most recently used values within a budget of bytes; always at least one. */
class Budget<K, V> {
  readonly #kept = new Map<K, { readonly value: V; readonly bytes: number }>();
  readonly #limit: number;
  #used = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: K): V | undefined {
    const entry = this.#kept.get(key);
    if (entry === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, entry);
    return entry.value;
  }

  set(key: K, value: V, bytes: number): void {
    this.#kept.set(key, { value, bytes });
    this.#used += bytes;
    for (const [oldest, entry] of this.#kept) {
      if (this.#used <= this.#limit || oldest === key) return;
      this.#kept.delete(oldest);
      this.#used -= entry.bytes;
    }
  }
}
