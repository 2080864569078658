import { digestOf, type Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import type { Threads } from '../../core/threads/job.ts';
import { GarbageBudget } from '../../core/memory.ts';
import { Scratch } from '../../core/threads/scratch.ts';
import { HEADER_LIMIT, openHeader } from '../age.ts';
import { ChunkIndex } from './chunk-index.ts';
import type { Folds } from './folds.ts';
import { packFile } from '../layout.ts';
import type { OpenPack } from './pack.ts';
import { DIGEST_FILE, READ_PACK, openSource, type PackSource } from './pack-jobs.ts';
import type { PackEntry } from './packlist.ts';
import { readBytes } from '../place.ts';
import { checkSize, type StoreReader } from '../reader.ts';

/** Opened packs together stay under about this many bytes. */
const PACK_BUDGET = 12 * 1024 * 1024;
const FRAME_BUDGET = 4 * 1024 * 1024;

/** Reads chunks out of sealed packs, opening each pack when it is needed and keeping the last few. */
export class ObjectSource {
  readonly #locate: StoreReader['locate'];
  readonly #threads: Threads;
  readonly #keys: Map<string, string>;
  readonly #entries: Map<Digest, PackEntry>;
  readonly #scratch = new Scratch();
  readonly #sources = new Map<Digest, PackSource>();
  readonly #packs = new Budget<Digest, OpenPack>(PACK_BUDGET);
  readonly #frames = new Budget<string, Buffer>(FRAME_BUDGET);
  readonly #memory = new GarbageBudget();
  readonly #folds: Folds | undefined;
  readonly index: ChunkIndex;

  constructor(options: {
    readonly locate: StoreReader['locate'];
    /** Where packs are opened that are learned or checked. */
    readonly threads: Threads;
    /** Store key id to its age identity. */
    readonly keys: ReadonlyMap<string, string>;
    readonly packs: readonly PackEntry[];
    readonly index?: ChunkIndex;
    /** Which packs took the place of those that a state enters by. */
    readonly folds?: Folds;
  }) {
    this.#locate = options.locate;
    this.#threads = options.threads;
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

  /**
   * Learns the chunks of every pack that a key opens; packs that the index knows already are not opened, unless `deep` asks
   * for a check of every chunk of every pack. Throws PACK_DAMAGED.
   */
  async learn({
    deep = false,
    onPack = () => undefined,
  }: { readonly deep?: boolean; readonly onPack?: (entry: PackEntry, records: Buffer) => Promise<void> | void } = {}): Promise<void> {
    const wanted = [...this.#entries.values()].filter((entry) => this.#keys.has(entry.key) && (deep || !this.index.hasPack(entry.digest)));
    const ahead: { readonly entry: PackEntry; readonly records: Promise<Uint8Array<ArrayBuffer>> }[] = [];
    const next = (): void => {
      const entry = wanted.shift();
      if (entry === undefined) return;
      const records = this.#records(entry, deep);
      records.catch(() => undefined);
      ahead.push({ entry, records });
    };
    for (let at = 0; at < this.#threads.width * 2; at++) next();
    for (let one = ahead.shift(); one !== undefined; one = ahead.shift()) {
      const bytes = Buffer.from((await one.records).buffer);
      next();
      if (!this.index.hasPack(one.entry.digest)) this.index.addRecords(one.entry.digest, bytes);
      await onPack(one.entry, bytes);
    }
  }

  async #records(entry: PackEntry, deep: boolean): Promise<Uint8Array<ArrayBuffer>> {
    const source = await this.source(entry.digest);
    return this.#threads.run(READ_PACK, { ...source, deep }, { cost: deep ? 4 * entry.size : entry.size });
  }

  /** A pack with the key that its header was opened with, for whoever reads it on another thread. */
  async source(digest: Digest): Promise<PackSource> {
    const kept = this.#sources.get(digest);
    if (kept !== undefined) return kept;
    const entry = this.#entries.get(digest);
    if (entry === undefined) throw new AgentError('BUNDLE_INCOMPLETE', `pack ${digest.slice(0, 12)} is in no pack list`);
    const identity = this.#keys.get(entry.key);
    if (identity === undefined) throw new AgentError('KEY_UNFIT', `no key of this host opens store key ${entry.key}`);
    const place = await this.#locate(packFile(digest));
    if (place === null) throw new AgentError('BUNDLE_INCOMPLETE', `pack ${digest.slice(0, 12)} is missing`);
    checkSize({ file: packFile(digest), size: place.size, store: 'the store' });
    const opened = await openHeader(readBytes(place, { offset: 0, length: HEADER_LIMIT }), [identity]);
    if ('refused' in opened) {
      // Rather a pack that was altered than one under another key.
      if ((await this.#threads.run(DIGEST_FILE, place, { cost: place.size })) !== digest)
        throw new AgentError('PACK_DAMAGED', `pack ${digest.slice(0, 12)} is not what its name says`);
      throw new AgentError('PACK_DAMAGED', `pack ${digest.slice(0, 12)} does not open with store key ${entry.key}`);
    }
    const source = { digest, place, header: opened.length, fileKey: opened.fileKey };
    this.#sources.set(digest, source);
    return source;
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
      this.#memory.check();
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
    const pack = openSource(await this.source(digest), { named: true, file: (size) => this.#scratch.take('file', size) });
    this.#memory.check();
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
