/**
 * Buffers that one thread uses again and again. What is some megabytes and made anew each time stays with the allocator in pieces,
 * so that a process of several threads comes to hold far more than it uses.
 */
export class Scratch {
  readonly #buffers = new Map<string, Buffer>();

  /** Bytes for a purpose, good until it is asked for again; what they hold is anything. */
  take(purpose: string, size: number): Buffer {
    const kept = this.#buffers.get(purpose);
    if (kept !== undefined && kept.length >= size) return kept.subarray(0, size);
    // With room for what is a little larger next time.
    const made = Buffer.from(new SharedArrayBuffer(size + (size >> 4)));
    this.#buffers.set(purpose, made);
    return made.subarray(0, size);
  }
}
