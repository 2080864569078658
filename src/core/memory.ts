import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of garbage after which the collector is asked to run. */
const STEP = 32 * 1024 * 1024;

/**
 * Counts bytes that were made and let go, and asks the collector to run after each 32 MiB of them. V8 counts buffers
 * lazily and lets the heap grow with a long walk: without this either holds several times what it uses.
 */
export class GarbageBudget {
  #since = 0;
  #collect: (() => void) | null = null;

  /** Notes bytes that are garbage from now on. */
  released(bytes: number): void {
    this.#since += bytes;
    if (this.#since < STEP) return;
    this.#since = 0;
    if (this.#collect === null) {
      setFlagsFromString('--expose-gc');
      this.#collect = runInNewContext('gc') as () => void;
    }
    this.#collect();
  }
}
