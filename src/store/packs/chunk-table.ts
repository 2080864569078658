import type { Digest } from '../../core/digest.ts';

/** Where a chunk lies: the number of a pack, a frame of it, and the place within the frame's plaintext. */
export interface ChunkPlace {
  readonly pack: number;
  readonly frame: number;
  readonly offset: number;
  readonly length: number;
}

/** Words of a key, and of a slot: key, pack + 1 (0: free), frame, offset, length. */
const KEY = 8;
const SLOT = KEY + 4;
const LEAST = 8;
/** Bytes of a chunk in a record: a slot but for its pack. */
export const RECORD = 4 * (SLOT - 1);

/**
 * A hash table from chunk digests to places, of 48 bytes a slot in plain buffers: a Map of a million digests would take
 * more than the memory that a whole checkpoint may have.
 */
export class ChunkTable {
  /** Told apart by the first byte of the digest, so that one after the other grows: a growth never holds all twice. */
  readonly #tables: Table[] = [];
  readonly #bytes = Buffer.alloc(SLOT * 4);
  readonly #words = new Uint32Array(this.#bytes.buffer, this.#bytes.byteOffset, SLOT);
  readonly #least: number;
  #size = 0;

  /** A table for about so many chunks; more make it grow. */
  constructor(expected = 0) {
    this.#least = Math.max(LEAST, Math.ceil(expected / 200));
  }

  get size(): number {
    return this.#size;
  }

  /** The place of a chunk, or null. */
  get(digest: Digest): ChunkPlace | null {
    this.#bytes.write(digest, 0, 'hex');
    const table = this.#tables[this.#bytes[0] ?? 0];
    const at = table?.find(this.#words, 0) ?? 0;
    const slots = table?.slots;
    const pack = slots?.[at + KEY] ?? 0;
    if (slots === undefined || pack === 0) return null;
    return { pack: pack - 1, frame: slots[at + KEY + 1] ?? 0, offset: slots[at + KEY + 2] ?? 0, length: slots[at + KEY + 3] ?? 0 };
  }

  has(digest: Digest): boolean {
    this.#bytes.write(digest, 0, 'hex');
    const table = this.#tables[this.#bytes[0] ?? 0];
    return table !== undefined && table.slots[table.find(this.#words, 0) + KEY] !== 0;
  }

  /** Notes where a chunk lies; the first place of a chunk stays. Returns whether it was new. */
  add(digest: Digest, { pack, frame, offset, length }: ChunkPlace): boolean {
    this.#bytes.write(digest, 0, 'hex');
    this.#words[KEY] = pack + 1;
    this.#words[KEY + 1] = frame;
    this.#words[KEY + 2] = offset;
    this.#words[KEY + 3] = length;
    return this.#add();
  }

  /** The same for all chunks of a pack, of each digest, frame, offset and length in RECORD bytes, numbers with their low byte first. */
  addRecords(records: Buffer, pack: number): void {
    this.#words[KEY] = pack + 1;
    for (let at = 0; at < records.length; at += RECORD) {
      records.copy(this.#bytes, 0, at, at + 4 * KEY);
      for (let word = 0; word < 3; word++) this.#words[KEY + 1 + word] = records.readUInt32LE(at + 4 * (KEY + word));
      this.#add();
    }
  }

  #add(): boolean {
    const table = (this.#tables[this.#bytes[0] ?? 0] ??= new Table(this.#least));
    const isNew = table.add(this.#words, 0);
    if (isNew) this.#size++;
    return isNew;
  }
}

/** Open addressing with linear probing. */
class Table {
  slots: Uint32Array;
  #capacity: number;
  #size = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.slots = new Uint32Array(capacity * SLOT);
  }

  add(words: Uint32Array, from: number): boolean {
    if (this.#size * 8 >= this.#capacity * 7) this.#grow();
    const at = this.find(words, from);
    if (this.slots[at + KEY] !== 0) return false;
    for (let word = 0; word < SLOT; word++) this.slots[at + word] = words[from + word] ?? 0;
    this.#size++;
    return true;
  }

  /** First word of the slot that has the key, or of the free slot where it belongs. */
  find(words: Uint32Array, from: number): number {
    const { slots } = this;
    // The first byte has chosen the table, so that the second word is the hash.
    let slot = (words[from + 1] ?? 0) % this.#capacity;
    for (;;) {
      const at = slot * SLOT;
      if (slots[at + KEY] === 0) return at;
      let word = 0;
      while (word < KEY && slots[at + word] === words[from + word]) word++;
      if (word === KEY) return at;
      slot = (slot + 1) % this.#capacity;
    }
  }

  #grow(): void {
    const old = this.slots;
    const count = this.#capacity;
    this.#capacity = Math.ceil(count * 1.5);
    this.slots = new Uint32Array(this.#capacity * SLOT);
    for (let at = 0; at < count * SLOT; at += SLOT)
      if (old[at + KEY] !== 0) this.slots.set(old.subarray(at, at + SLOT), this.find(old, at));
  }
}
