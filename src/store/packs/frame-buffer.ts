import { AgentError } from '../../core/errors.ts';
import { FRAME_LIMIT } from './frame.ts';

/** Plaintext bytes at which a frame is closed. */
const FRAME_SIZE = 512 * 1024;
/** Room for what is gathered and one more chunk of any size that a writer cuts. */
const ROOM = FRAME_SIZE + 256 * 1024;
/** A chunk comes into a frame behind less than FRAME_SIZE of others. */
const CHUNK_LIMIT = FRAME_LIMIT - FRAME_SIZE;

/** Gathers the chunks of one frame after the other in one buffer. */
export class FrameBuffer {
  #buffer = new Uint8Array(ROOM);
  #size = 0;
  #count = 0;

  /** Chunks that were gathered. */
  get count(): number {
    return this.#count;
  }

  /** Copies a chunk; returns whether the frame is full with it. */
  add(bytes: Uint8Array): boolean {
    if (bytes.length > CHUNK_LIMIT)
      throw new AgentError('INTERNAL', `a chunk of ${String(bytes.length)} bytes is larger than a reader accepts`);
    if (this.#size + bytes.length > this.#buffer.length) {
      const larger = new Uint8Array(this.#size + bytes.length);
      larger.set(this.#buffer.subarray(0, this.#size));
      this.#buffer = larger;
    }
    this.#buffer.set(bytes, this.#size);
    this.#size += bytes.length;
    this.#count++;
    return this.#size >= FRAME_SIZE;
  }

  /** The plaintext that was gathered, good until the next chunk; begins a new frame. */
  take(): Uint8Array {
    const taken = this.#buffer.subarray(0, this.#size);
    this.#size = 0;
    this.#count = 0;
    return taken;
  }
}
