import type { Digest } from '../../core/digest.ts';
import type { Lane } from '../../core/threads/lane.ts';
import type { ToLane } from '../lane/messages.ts';
import type { ReadTask } from './read-task.ts';

/** A task that was asked for, and the bytes that were read of it so far. */
export interface Asked {
  readonly task: ReadTask;
  read: number;
}

/** What a lane has to do. */
export interface LaneState {
  readonly lane: Lane<ToLane>;
  readonly batches: Map<number, readonly Asked[]>;
  /** Chunks that the lane was told to keep and whose frame has not come, by use. */
  readonly kept: readonly (readonly [Digest, number])[][];
  hasLong: boolean;
  /** Parts are judged one after the other, since frames come in the order of the verdicts. */
  judged: Promise<void>;
  flushed: (() => void) | null;
}
