import type { Digest } from '../../core/digest.ts';
import { WORTH, ownThread, type Threads } from '../../core/threads/job.ts';
import { openLane } from '../../core/threads/lane.ts';
import type { EncodedFrame } from '../../store/packs/pack-writer.ts';
import { CAPTURE_LANE } from '../lane/lane.ts';
import { KEEP, PART, type FromLane, type LanePart } from '../lane/messages.ts';
import type { Asked, LaneState } from './lane-state.ts';
import { asBuffer, hexAt, settle, type ReadTask } from './read-task.ts';

/** Batches that a lane may have, so that it is never idle. */
const AHEAD = 3;
const MOST_FILES = 256;
/** What opening a file costs, in bytes read. */
const OPENING = 16 * 1024;

/**
 * Reads files on lanes: small ones many at a time, long ones part by part. One lane is this thread's own, which does alone
 * what is little; beyond that there is one on each other thread.
 */
export class FileReader {
  readonly #threads: Threads;
  /** Takes the frames of what is kept; null where only digests of whole files are wanted. */
  readonly #onFrame: ((use: 'main' | 'secret', frame: EncodedFrame) => void) | null;
  /** Resolves when more may be kept. */
  readonly #room: () => Promise<void>;
  readonly #lanes: LaneState[] = [];
  /** Lanes that take new work. */
  #open: LaneState[] = [];
  #work = 0;
  #batches = 0;
  #batch: Asked[] = [];
  #batchBytes = 0;
  /** Whether the batch goes out at the next turn of the loop: nothing may wait for it to become full. */
  #leaving = false;
  /** Long files for which no lane is free. */
  #longWaiting = 0;
  #failure: Error | null = null;
  readonly #onRoom: (() => void)[] = [];

  constructor(
    threads: Threads,
    {
      onFrame,
      room = () => Promise.resolve(),
    }: { readonly onFrame: ((use: 'main' | 'secret', frame: EncodedFrame) => void) | null; readonly room?: () => Promise<void> },
  ) {
    this.#threads = threads;
    this.#onFrame = onFrame;
    this.#room = room;
  }

  /** Resolves when another file may be asked for; null where that is now. */
  room(): Promise<void> | null {
    const isFull = (): boolean =>
      this.#longWaiting > 0 || (this.#open.length > 0 && this.#open.every((lane) => lane.batches.size >= AHEAD));
    const wait = async (): Promise<void> => {
      while (isFull()) await this.#change();
    };
    return isFull() ? wait() : null;
  }

  /** Reads up to `size` bytes of a file. */
  read(task: ReadTask): void {
    const reading = { task, read: 0 };
    this.#work += task.size + OPENING;
    if (task.size > PART) {
      void this.#readLong(reading);
      return;
    }
    if (this.#batchBytes + task.size > PART || this.#batch.length === MOST_FILES) this.#flush();
    this.#batch.push(reading);
    this.#batchBytes += task.size;
    if (this.#leaving) return;
    this.#leaving = true;
    setImmediate(() => {
      this.#leaving = false;
      this.#flush();
    });
  }

  /** Sees to it that every frame has come, and ends the lanes. Call it when every file was read. */
  async end(): Promise<void> {
    await Promise.all(
      this.#lanes.map(async (lane) => {
        await lane.judged;
        this.#throw();
        const flushed = new Promise<void>((resolve) => (lane.flushed = resolve));
        lane.lane.send({ kind: 'flush' });
        await flushed;
        this.#throw();
      }),
    );
    await this.close();
  }

  /** Ends the lanes, whatever they do. */
  async close(): Promise<void> {
    // What still waits to be read may open no lane any more.
    this.#failure ??= new Error('reading ended');
    this.#tell();
    await Promise.all(this.#lanes.splice(0).map(({ lane }) => lane.close()));
  }

  #throw(): void {
    if (this.#failure !== null) throw this.#failure;
  }

  #isOver(): boolean {
    return this.#failure !== null;
  }

  #flush(): void {
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#batchBytes = 0;
    if (this.#failure === null) this.#give(this.#idlest(), batch);
    else for (const { task } of batch) task.fail(this.#failure);
  }

  async #readLong(reading: Asked): Promise<void> {
    if (this.#isOver()) {
      reading.task.fail(this.#failure);
      return;
    }
    // One of them at a time on each lane, and none behind one.
    this.#longWaiting++;
    let lane = this.#idlest();
    for (; lane.hasLong && !this.#isOver(); lane = this.#idlest()) await this.#change();
    this.#longWaiting--;
    lane.hasLong = true;
    this.#give(lane, [reading]);
    this.#tell();
  }

  #give(lane: LaneState, batch: readonly Asked[]): void {
    if (this.#failure !== null) {
      for (const { task } of batch) task.fail(this.#failure);
      return;
    }
    const number = this.#batches++;
    lane.batches.set(number, batch);
    lane.lane.send({
      kind: 'batch',
      batch: number,
      paths: batch.map(({ task }) => task.path),
      sizes: batch.map(({ task }) => task.size),
      cuts: this.#onFrame !== null,
    });
  }

  /** The open lane with the least to do; a long file counts much. */
  #idlest(): LaneState {
    if (this.#open.length === 0) this.#open = [this.#newLane(ownThread)];
    else if (this.#open.length === 1 && this.#threads.width > 1 && this.#work > WORTH && this.#lanes.length === 1)
      this.#open = Array.from({ length: this.#threads.width }, () => this.#newLane(this.#threads));
    const weight = (lane: LaneState): number => lane.batches.size + (lane.hasLong ? AHEAD : 0);
    return this.#open.reduce((least, lane) => (weight(lane) < weight(least) ? lane : least));
  }

  #newLane(threads: Threads): LaneState {
    const lane = openLane(threads, CAPTURE_LANE, {
      onMessage: (message) => {
        if (message.kind === 'part')
          state.judged = state.judged
            .then(() => this.#judge(state, message))
            .catch((error: unknown) => {
              this.#fail(error);
            });
        else if (message.kind === 'frame') this.#takeFrame(state, message);
        else state.flushed?.();
      },
      onFailure: (error) => {
        this.#fail(error);
      },
    });
    const state: LaneState = { lane, batches: new Map(), kept: [[], [], []], hasLong: false, judged: Promise.resolve(), flushed: null };
    this.#lanes.push(state);
    return state;
  }

  async #judge(lane: LaneState, message: LanePart): Promise<void> {
    const batch = lane.batches.get(message.batch) ?? [];
    const { lengths } = message;
    const digests = asBuffer(message.digests);
    const keep = new Uint8Array(lengths.length);
    let from = 0;
    for (const [at, reading] of batch.entries()) {
      const count = message.chunks[at] ?? 0;
      const own: Digest[] = [];
      for (let number = from; number < from + count; number++) {
        own.push(hexAt(digests, number));
        reading.read += lengths[number] ?? 0;
      }
      const judged = reading.task.judge(own, message.headers[at]);
      const uses = judged instanceof Promise ? await judged : judged;
      for (let number = 0; number < uses.length; number++) {
        const use = uses[number] ?? KEEP.none;
        const digest = own[number];
        if (use === KEEP.none || digest === undefined) continue;
        keep[from + number] = use;
        lane.kept[use]?.push([digest, lengths[from + number] ?? 0]);
      }
      from += count;
    }
    lane.lane.send({ kind: 'verdict', part: message.part, keep });
    await this.#room();
    if (!message.isLast) return;
    lane.batches.delete(message.batch);
    if (batch[0] !== undefined && batch[0].task.size > PART) lane.hasLong = false;
    for (const [at, reading] of batch.entries()) settle(reading, message, at);
    this.#tell();
  }

  #takeFrame(lane: LaneState, { use, chunks, raw, encoded }: Extract<FromLane, { kind: 'frame' }>): void {
    const kept = lane.kept[use]?.splice(0, chunks) ?? [];
    this.#onFrame?.(use === KEEP.secret ? 'secret' : 'main', { chunks: kept, raw, encoded });
  }

  #fail(cause: unknown): void {
    this.#failure ??= cause instanceof Error ? cause : new Error(String(cause));
    for (const lane of this.#lanes) {
      for (const batch of lane.batches.values()) for (const { task } of batch) task.fail(this.#failure);
      lane.batches.clear();
      lane.flushed?.();
    }
    this.#tell();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom.push(resolve);
    });
  }

  #tell(): void {
    for (const resolve of this.#onRoom.splice(0)) resolve();
  }
}
