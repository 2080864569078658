import { closeSync, constants, fchmodSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { describeError, type CrossingError } from '../core/crossing.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { laneJob } from '../core/lane.ts';
import { GarbageBudget } from '../core/memory.ts';
import type { OpenPack } from '../store/packs/pack.ts';
import { openSource, type PackSource } from '../store/packs/pack-jobs.ts';
import { setTime } from './times.ts';

/** A part of a file: some of its chunks, one after the other from an offset. */
export interface StagePart {
  readonly path: string | Uint8Array;
  readonly offset: number;
  /** For each chunk: number of its pack among those of the batch, frame, offset in it, length. */
  readonly places: Uint32Array;
  readonly digests: readonly Digest[];
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

/** Opens packs and writes the files whose contents lie in them. Every chunk is checked against its digest. */
export const STAGE_LANE = laneJob<StageBatch, StageDone>('install/stage-lane', (send) => {
  const lane = new StageLane();
  return (batch) => {
    send({ batch: batch.batch, failed: lane.write(batch) });
  };
});

class StageLane {
  readonly #packs = new Map<Digest, OpenPack>();
  readonly #frames = new Map<string, Buffer>();
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

  #writePart({ path, offset, places, digests, isSparse, whole }: StagePart, packs: readonly PackSource[]): void {
    const target = typeof path === 'string' ? path : Buffer.from(path);
    const fresh = constants.O_CREAT | constants.O_EXCL;
    const fd = openSync(target, constants.O_WRONLY | constants.O_NOFOLLOW | (whole === null ? 0 : fresh), 0o600);
    try {
      let at = offset;
      for (const [number, digest] of digests.entries()) {
        const [pack = 0, frame = 0, from = 0, length = 0] = places.subarray(number * PLACE, number * PLACE + PLACE);
        const bytes = this.#frame(packs[pack], frame).subarray(from, from + length);
        if (digestOf(bytes) !== digest) throw new AgentError('PACK_DAMAGED', `chunk ${digest.slice(0, 12)} is not what its digest says`);
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
    return kept(this.#frames, `${source.digest}/${String(index)}`, FRAMES, () =>
      kept(this.#packs, source.digest, PACKS, () => openSource(source, { named: false })).frame(index),
    );
  }
}

/** What a small cache has, or makes; the oldest goes. */
function kept<K, V>(cache: Map<K, V>, key: K, most: number, make: () => V): V {
  let value = cache.get(key);
  if (value === undefined) value = make();
  else cache.delete(key);
  cache.set(key, value);
  for (const oldest of cache.keys()) {
    if (cache.size <= most) break;
    cache.delete(oldest);
  }
  return value;
}

/** Writes all of the bytes at a place. */
export function writeAll(fd: number, bytes: Uint8Array, at: number): void {
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, at + done);
}
