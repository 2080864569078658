import { closeSync, constants, fchmodSync, ftruncateSync, openSync } from 'node:fs';
import { errorOf } from '../core/threads/crossing.ts';
import type { Digest } from '../core/digest.ts';
import { AgentError, systemCode } from '../core/errors.ts';
import { WORTH, ownThread, type Threads } from '../core/threads/job.ts';
import { openLane, type Lane } from '../core/threads/lane.ts';
import { showName, type RelPath } from '../core/name.ts';
import { explain } from '../core/system-error.ts';
import type { FileEntry } from '../manifest/entry.ts';
import type { ObjectSource } from '../store/packs/objects.ts';
import type { PackSource } from '../store/packs/pack-jobs.ts';
import { PLACE, STAGE_LANE, type StageBatch, type StagePart } from './stage-lane.ts';
import { setTime } from './times.ts';

/** Bytes that are written with one message, and files. */
const BATCH = 2 * 1024 * 1024;
const MOST = 256;
/** Batches that a lane may have: more than a pack has, so that the next pack's lane is given work meanwhile. */
const AHEAD = 16;

/** A file that is to be written, of which the chunks are known. */
export interface StagedFile {
  readonly path: RelPath;
  /** Absolute; bytes where the name is not UTF-8. */
  readonly target: string | Buffer;
  readonly entry: Pick<FileEntry, 'size' | 'mode' | 'mtime' | 'sparse'>;
  readonly chunks: readonly Digest[];
}

interface LaneState {
  readonly lane: Lane<StageBatch>;
  running: number;
}

/** What is asked of a lane at once: parts of files whose chunks lie in few packs. */
class Batch {
  readonly packs: PackSource[] = [];
  readonly numbers = new Map<Digest, number>();
  readonly parts: StagePart[] = [];
  readonly paths: RelPath[] = [];
  bytes = 0;
}

/**
 * Writes files out of packs on lanes: what lies in one pack is written on one lane, so that each pack is opened about once.
 * Files of one batch are complete when it is; a file in several is completed when all are.
 */
export class StageWriter {
  readonly #source: ObjectSource;
  readonly #threads: Threads;
  #lanes: LaneState[] = [];
  #ownLane: LaneState | null = null;
  /** The lane that opened a pack last. */
  readonly #laneOf = new Map<Digest, LaneState>();
  #batch = new Batch();
  /** The pack that the batch began with. */
  #first: Digest | null = null;
  #work = 0;
  #batches = 0;
  /** Batches that are not written yet: whose files they are. */
  readonly #sent = new Map<number, readonly RelPath[]>();
  readonly #long: StagedFile[] = [];
  readonly #waiting: (() => void)[] = [];
  #failure: { readonly error: unknown } | null = null;

  constructor(source: ObjectSource, threads: Threads) {
    this.#source = source;
    this.#threads = threads;
  }

  /** Adds a file, which must not be there; resolves when there is room for more. Rejects as `idle` does. */
  async add(file: StagedFile): Promise<void> {
    const { path, target, entry, chunks } = file;
    const size = Number(entry.size);
    const whole = { size, mode: entry.mode, mtime: entry.mtime };
    if (size <= BATCH) {
      if (this.#batch.bytes + size > BATCH || this.#batch.parts.length === MOST) await this.#flush();
      await this.#part(path, { path: target, offset: 0, isSparse: entry.sparse === true, whole }, chunks);
      return;
    }
    const fd = openSync(target, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    try {
      ftruncateSync(fd, size);
    } finally {
      closeSync(fd);
    }
    this.#long.push(file);
    let offset = 0;
    for (let at = 0; at < chunks.length;) {
      const first = this.#placeOf(chunks[at]).pack;
      let end = at;
      let bytes = 0;
      for (; end < chunks.length && bytes < BATCH; end++) {
        const place = this.#placeOf(chunks[end]);
        if (place.pack !== first) break;
        bytes += place.length;
      }
      await this.#flush();
      await this.#part(path, { path: target, offset, isSparse: entry.sparse === true, whole: null }, chunks.slice(at, end));
      offset += bytes;
      at = end;
    }
  }

  /** Resolves when all that was added is written; rejects with the first error, and the path that it is about. */
  async idle(): Promise<void> {
    await this.#flush();
    while (this.#sent.size > 0 && this.#failure === null) await this.#change();
    this.#throw();
    for (const { target, entry } of this.#long.splice(0)) {
      const fd = openSync(target, constants.O_WRONLY | constants.O_NOFOLLOW);
      try {
        fchmodSync(fd, entry.mode);
      } finally {
        closeSync(fd);
      }
      setTime(target, entry.mtime);
    }
  }

  /** Ends the lanes, whatever they do. */
  async close(): Promise<void> {
    await Promise.all([...this.#lanes, ...(this.#ownLane === null ? [] : [this.#ownLane])].map(({ lane }) => lane.close()));
  }

  /** Bytes of a chunk; throws BUNDLE_INCOMPLETE where it is in no pack. */
  lengthOf(digest: Digest): number {
    return this.#placeOf(digest).length;
  }

  async #part(path: RelPath, part: Pick<StagePart, 'path' | 'offset' | 'isSparse' | 'whole'>, digests: readonly Digest[]): Promise<void> {
    const batch = this.#batch;
    const places = new Uint32Array(digests.length * PLACE);
    let length = 0;
    for (const [at, digest] of digests.entries()) {
      const place = this.#placeOf(digest);
      const pack = this.#source.index.pack(place.pack);
      if (pack === undefined) throw missing(digest);
      let number = batch.numbers.get(pack);
      if (number === undefined) {
        number = batch.packs.push(await this.#source.source(pack)) - 1;
        batch.numbers.set(pack, number);
        this.#first ??= pack;
      }
      places.set([number, place.frame, place.offset, place.length], at * PLACE);
      length += place.length;
    }
    batch.parts.push({ ...part, places });
    batch.paths.push(path);
    batch.bytes += length;
    this.#work += length;
  }

  #placeOf(digest: Digest | undefined): {
    readonly pack: number;
    readonly frame: number;
    readonly offset: number;
    readonly length: number;
  } {
    const place = digest === undefined ? null : this.#source.index.table.get(digest);
    if (place === null) throw missing(digest);
    return place;
  }

  async #flush(): Promise<void> {
    const { packs, parts, paths } = this.#batch;
    if (parts.length === 0) return;
    const lane = this.#laneFor(this.#first);
    this.#batch = new Batch();
    this.#first = null;
    while (lane.running >= AHEAD && this.#failure === null) await this.#change();
    this.#throw();
    const batch = this.#batches++;
    lane.running++;
    this.#sent.set(batch, paths);
    lane.lane.send({ batch, packs, parts });
  }

  /** What lies in one pack goes to one lane; while there is little to do it is this thread's own. */
  #laneFor(first: Digest | null): LaneState {
    if (this.#threads.width === 1 || this.#work < WORTH) return (this.#ownLane ??= this.#newLane(ownThread));
    if (this.#lanes.length === 0) this.#lanes = Array.from({ length: this.#threads.width }, () => this.#newLane(this.#threads));
    const idlest = this.#lanes.reduce((least, lane) => (lane.running < least.running ? lane : least));
    if (first === null) return idlest;
    const lane = this.#laneOf.get(first) ?? idlest;
    this.#laneOf.set(first, lane);
    return lane;
  }

  #newLane(threads: Threads): LaneState {
    const lane = openLane(threads, STAGE_LANE, {
      onMessage: ({ batch, failed }) => {
        const path = failed === null ? undefined : this.#sent.get(batch)?.[failed.part];
        this.#sent.delete(batch);
        state.running--;
        if (failed !== null) this.#fail(path === undefined ? errorOf(failed.error) : stageError(path, errorOf(failed.error)));
        this.#tell();
      },
      onFailure: (error) => {
        this.#fail(error);
      },
    });
    const state = { lane, running: 0 };
    return state;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#tell();
  }

  #throw(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #tell(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function missing(digest: Digest | undefined): AgentError {
  return new AgentError('BUNDLE_INCOMPLETE', `chunk ${digest?.slice(0, 12) ?? ''} is in no pack that opens`);
}

/** What is told where a path could not be written. */
export function stageError(path: RelPath, error: unknown): unknown {
  if (systemCode(error) !== 'EEXIST') return explain(error, showName(path));
  return new AgentError('NAME_COLLISION', `'${showName(path)}' and another name are one name on this file system`, {
    cause: error,
    hints: [
      {
        command: 'agent rehydrate BUNDLE DIR',
        effect: 'on a file system that tells the names apart (ext4, XFS, btrfs, case-sensitive APFS)',
      },
    ],
  });
}
