import type { Digest } from '../core/digest.ts';

/** Where a chunk lies: the number of a pack, a frame of it, and the place within the frame's plaintext. */
export interface ChunkPlace {
  readonly pack: number;
  readonly frame: number;
  readonly offset: number;
  readonly length: number;
}

const KEY = 32;
const SLOT = KEY + 16;

/**
 * A hash table from chunk digests to places in one buffer of 48 bytes a slot: a Map of a million digests would take more
 * than the memory that a whole checkpoint may have.
 */
export class ChunkTable {
  #slots = Buffer.alloc(1024 * SLOT);
  #capacity = 1024;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The place of a chunk, or null. */
  get(digest: Digest): ChunkPlace | null {
    const at = this.#find(Buffer.from(digest, 'hex'));
    const pack = this.#slots.readUInt32LE(at + KEY);
    if (pack === 0) return null;
    return {
      pack: pack - 1,
      frame: this.#slots.readUInt32LE(at + KEY + 4),
      offset: this.#slots.readUInt32LE(at + KEY + 8),
      length: this.#slots.readUInt32LE(at + KEY + 12),
    };
  }

  /** Notes where a chunk lies; the first place of a chunk stays. Returns whether it was new. */
  add(digest: Digest, place: ChunkPlace): boolean {
    if (this.#size * 4 >= this.#capacity * 3) this.#grow();
    const key = Buffer.from(digest, 'hex');
    const at = this.#find(key);
    if (this.#slots.readUInt32LE(at + KEY) !== 0) return false;
    key.copy(this.#slots, at);
    this.#slots.writeUInt32LE(place.pack + 1, at + KEY);
    this.#slots.writeUInt32LE(place.frame, at + KEY + 4);
    this.#slots.writeUInt32LE(place.offset, at + KEY + 8);
    this.#slots.writeUInt32LE(place.length, at + KEY + 12);
    this.#size++;
    return true;
  }

  /** Byte offset of the slot that has the key, or of the free slot where it belongs. */
  #find(key: Buffer): number {
    let slot = key.readUInt32LE(0) % this.#capacity;
    for (;;) {
      const at = slot * SLOT;
      if (this.#slots.readUInt32LE(at + KEY) === 0 || this.#slots.compare(key, 0, KEY, at, at + KEY) === 0) return at;
      slot = (slot + 1) % this.#capacity;
    }
  }

  #grow(): void {
    const old = this.#slots;
    const count = this.#capacity;
    this.#capacity *= 2;
    this.#slots = Buffer.alloc(this.#capacity * SLOT);
    for (let slot = 0; slot < count; slot++) {
      const at = slot * SLOT;
      if (old.readUInt32LE(at + KEY) !== 0) old.copy(this.#slots, this.#find(old.subarray(at, at + KEY)), at, at + SLOT);
    }
  }
}
