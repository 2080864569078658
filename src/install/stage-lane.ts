import { closeSync, constants, fchmodSync, ftruncateSync, openSync } from 'node:fs';
import { writeAll } from '../core/bytes.ts';
import { describeError, type CrossingError } from '../core/threads/crossing.ts';
import type { Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { laneJob } from '../core/threads/lane.ts';
import { GarbageBudget } from '../core/memory.ts';
import { Scratch } from '../core/threads/scratch.ts';
import type { OpenPack } from '../store/packs/pack.ts';
import { openSource, type PackSource } from '../store/packs/pack-jobs.ts';
import { setTime } from './times.ts';

/** A part of a file: some of its chunks, one after the other from an offset. */
export interface StagePart {
  readonly path: string | Uint8Array;
  readonly offset: number;
  /** For each chunk: number of its pack among those of the batch, frame, offset in it, length. */
  readonly places: Uint32Array;
  readonly isSparse: boolean;
  /** What makes the file complete; null where further parts are written, too, and whoever asks completes it. */
  readonly whole: { readonly size: number; readonly mode: number; readonly mtime: string } | null;
}

/** Parts that are to be written, and the packs in which they lie. */
export interface StageBatch {
  readonly batch: number;
  readonly packs: readonly PackSource[];
  readonly parts: readonly StagePart[];
}

/** Says that a batch is written, or which of its parts could not be. */
export interface StageDone {
  readonly batch: number;
  readonly failed: { readonly part: number; readonly error: CrossingError } | null;
}

/** Numbers of a place. */
export const PLACE = 4;
/** Opened packs that a lane keeps, and decoded frames. */
const PACKS = 2;
const FRAMES = 4;
/** Bytes that a lane leaves behind between two collections, of which it has little else. */
const GARBAGE = 8 * 1024 * 1024;

/**
 * Opens packs and writes the files whose contents lie in them. Whether they are what the tree says is for the
 * check of the finished tree to find: it reads every byte again.
 */
export const STAGE_LANE = laneJob<StageBatch, StageDone>('install/stage-lane', (send) => {
  const lane = new StageLane();
  return {
    take: (batch) => {
      send({ batch: batch.batch, failed: lane.write(batch) });
    },
  };
});

class StageLane {
  readonly #packs = new Slots<Digest, OpenPack>(PACKS);
  readonly #frames = new Slots<string, Buffer>(FRAMES);
  readonly #scratch = new Scratch();
  readonly #memory = new GarbageBudget(GARBAGE);

  write({ packs, parts }: StageBatch): StageDone['failed'] {
    for (const [number, part] of parts.entries()) {
      this.#memory.check();
      try {
        this.#writePart(part, packs);
      } catch (error) {
        return { part: number, error: describeError(error) };
      }
    }
    return null;
  }

  #writePart({ path, offset, places, isSparse, whole }: StagePart, packs: readonly PackSource[]): void {
    const target = typeof path === 'string' ? path : Buffer.from(path);
    const fresh = constants.O_CREAT | constants.O_EXCL;
    const fd = openSync(target, constants.O_WRONLY | constants.O_NOFOLLOW | (whole === null ? 0 : fresh), 0o600);
    try {
      let at = offset;
      for (let number = 0; number < places.length / PLACE; number++) {
        const [pack = 0, frame = 0, from = 0, length = 0] = places.subarray(number * PLACE, number * PLACE + PLACE);
        const bytes = this.#frame(packs[pack], frame).subarray(from, from + length);
        if (!isSparse || bytes.some((byte) => byte !== 0)) writeAll(fd, bytes, at);
        at += length;
      }
      if (whole === null) return;
      if (isSparse) ftruncateSync(fd, whole.size);
      fchmodSync(fd, whole.mode);
    } finally {
      closeSync(fd);
    }
    setTime(target, whole.mtime);
  }

  #frame(source: PackSource | undefined, index: number): Buffer {
    if (source === undefined) throw new AgentError('INTERNAL', 'a part is in no pack of its batch');
    return this.#frames.get(`${source.digest}/${String(index)}`, () => {
      const frame = this.#packs.get(source.digest, (slot) => this.#open(source, slot)).frame(index);
      // One that is stored as it is lies in the buffer of its pack, which is used again.
      return frame.buffer instanceof SharedArrayBuffer ? Buffer.from(frame) : frame;
    });
  }

  #open(source: PackSource, slot: number): OpenPack {
    return openSource(source, {
      named: false,
      file: (size) => this.#scratch.take('file', size),
      plaintext: (size) => this.#scratch.take(`plaintext ${String(slot)}`, size),
    });
  }
}

/** Keeps the values that were used last, each in a slot that the next one takes over. */
class Slots<K, V> {
  readonly #kept = new Map<K, { readonly value: V; readonly slot: number }>();
  readonly #free: number[];

  constructor(count: number) {
    this.#free = Array.from({ length: count }, (_, slot) => slot);
  }

  /** What is kept, or is made now. */
  get(key: K, make: (slot: number) => V): V {
    const found = this.#kept.get(key);
    this.#kept.delete(key);
    const slot = found?.slot ?? this.#take();
    try {
      const value = found?.value ?? make(slot);
      this.#kept.set(key, { value, slot });
      return value;
    } catch (error) {
      this.#free.push(slot);
      throw error;
    }
  }

  #take(): number {
    const [oldest] = this.#kept;
    const free = this.#free.pop();
    if (free !== undefined || oldest === undefined) return free ?? 0;
    this.#kept.delete(oldest[0]);
    return oldest[1].slot;
  }
}
