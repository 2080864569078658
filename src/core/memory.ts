import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of heap and buffers beyond what was in use after the last collection, at which the collector is asked to run. */
const STEP = 12 * 1024 * 1024;

/** What was in use after the last collection that was asked for, or at the beginning. The heap is the thread's, so that this is no one's own. */
let kept: number | null = null;
let collect: (() => void) | null = null;

/**
 * Asks the collector to run where long work has left much behind. V8 counts buffers lazily and lets the heap of a long walk
 * grow with what outlived a few short collections: without this either holds several times what it uses.
 */
export class GarbageBudget {
  readonly #step: number;

  constructor(step = STEP) {
    this.#step = step;
    kept ??= inUse();
  }

  /** Call it now and then, where a piece of work has ended. */
  check(): void {
    if (inUse() < (kept ?? 0) + this.#step) return;
    if (collect === null) {
      setFlagsFromString('--expose-gc');
      collect = runInNewContext('gc') as () => void;
    }
    collect();
    kept = inUse();
  }
}

function inUse(): number {
  const { used_heap_size, external_memory } = getHeapStatistics();
  return used_heap_size + external_memory;
}
