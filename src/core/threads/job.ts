import type { Transferable } from 'node:worker_threads';
import { Scratch } from './scratch.ts';

/**
 * A piece of work that depends on its input alone and may run on another thread. What it throws is thrown where it was
 * asked for; what it takes and gives must survive a structured clone.
 */
export interface Job<In, Out> {
  /** Room and verb, such as `store/encode`; unique in the program. */
  readonly name: string;
  readonly run: (input: In, scratch: Scratch) => Out | Promise<Out>;
  /** Buffers of the result that its owner lets go of, so that they are moved and not copied. */
  readonly gives?: (output: Out) => readonly ArrayBuffer[];
}

/** Bytes of work that one thread does sooner alone than it takes to start others. */
export const WORTH = 6 * 1024 * 1024;

/** How one job is to be run. */
export interface RunOptions {
  /** Bytes that it works through: threads are started only where there is enough to do for them. */
  readonly cost: number;
  /** Buffers and ports of the input that are moved to the thread; the caller may not touch them again. */
  readonly moves?: readonly Transferable[];
  /** Whether it has to be on another thread, where there is one; else it runs here while none stands. */
  readonly waits?: boolean;
}

/** Runs jobs, at once or on other threads. */
export interface Threads {
  /** How many jobs run at once. */
  readonly width: number;
  run<In, Out>(job: Job<In, Out>, input: In, options: RunOptions): Promise<Out>;
}

/** Runs every job where it is asked for. */
export const ownThread: Threads = {
  width: 1,
  run: async (job, input) => job.run(input, new Scratch()),
};
