import { laneJob, type Send } from '../../core/threads/lane.ts';
import { GarbageBudget } from '../../core/memory.ts';
import { encodeFrame } from '../../store/packs/frame.ts';
import { FrameBuffer } from '../../store/packs/frame-buffer.ts';
import { KEEP, PART, type FromLane, type LanePart, type ToLane } from './messages.ts';
import { LongFile, Reads, readSmall, type Columns } from './reads.ts';

/** Bytes that a lane leaves behind between two collections, of which it has little else. */
const GARBAGE = 8 * 1024 * 1024;
/** Parts of a long file whose verdicts are not there yet. */
const AHEAD = 3;

/** Reads, hashes and packs what it is asked for: the half of the pipeline that runs beside the walk. */
export const CAPTURE_LANE = laneJob<ToLane, FromLane>('capture/lane', (send) => {
  const lane = new CaptureLane(send);
  return {
    take: (message) => {
      lane.take(message);
    },
    end: () => {
      lane.end();
    },
  };
});

interface HeldPart {
  readonly buffer: Buffer;
  readonly lengths: Uint32Array;
  readonly isLong: boolean;
}

class CaptureLane {
  readonly #send: Send<FromLane>;
  readonly #held = new Map<number, HeldPart>();
  readonly #spare: Buffer[] = [];
  readonly #frames = [new FrameBuffer(), new FrameBuffer()] as const;
  readonly #memory = new GarbageBudget(GARBAGE);
  #parts = 0;
  /** The long file that is being read, and how many of its parts are held. */
  #long: LongFile | null = null;
  #longParts = 0;

  constructor(send: Send<FromLane>) {
    this.#send = send;
  }

  take(message: ToLane): void {
    if (message.kind === 'verdict') this.#keep(message.part, message.keep);
    else if (message.kind === 'flush') this.#flush();
    else this.#read(message);
  }

  /** Closes the file that is being read. */
  end(): void {
    this.#long?.close();
    this.#long = null;
  }

  #flush(): void {
    this.#closeFrame(KEEP.main);
    this.#closeFrame(KEEP.secret);
    this.#send({ kind: 'flushed' });
  }

  #read({ batch, paths, sizes, cuts }: Extract<ToLane, { kind: 'batch' }>): void {
    const [path = '', size = 0] = [paths[0], sizes[0]];
    if (size > PART) {
      this.#long = new LongFile(batch, { path, size }, cuts);
      this.#goOn();
      return;
    }
    const buffer = this.#buffer();
    const reads = new Reads();
    let at = 0;
    for (const [number, one] of paths.entries())
      at += reads.tried(() => readSmall(one, { room: buffer.subarray(at, at + (sizes[number] ?? 0)), reads, cuts })) ?? 0;
    this.#answer(reads.end(), { batch, isLast: true, buffer, isLong: false });
  }

  /** Reads on in a long file as far as it may be ahead of the verdicts. */
  #goOn(): void {
    while (this.#long !== null && this.#longParts < AHEAD) {
      const buffer = this.#buffer();
      const reads = new Reads();
      const long = this.#long;
      const isLast = reads.tried(() => long.next(buffer, reads)) ?? true;
      if (isLast) {
        long.close();
        this.#long = null;
      }
      this.#longParts++;
      this.#answer(reads.end(), { batch: long.batch, isLast, buffer, isLong: true });
    }
  }

  #answer(
    columns: Columns,
    { batch, isLast, buffer, isLong }: Pick<LanePart, 'batch' | 'isLast'> & Pick<HeldPart, 'buffer' | 'isLong'>,
  ): void {
    const part = this.#parts++;
    this.#held.set(part, { buffer, lengths: columns.lengths, isLong });
    this.#send({ kind: 'part', part, batch, isLast, ...columns });
  }

  #keep(part: number, keep: Uint8Array): void {
    const held = this.#held.get(part);
    if (held === undefined) return;
    const { buffer, lengths, isLong } = held;
    let at = 0;
    for (const [number, length] of lengths.entries()) {
      const use = keep[number] ?? KEEP.none;
      if (use !== KEEP.none && this.#frameOf(use).add(buffer.subarray(at, at + length))) this.#closeFrame(use);
      at += length;
    }
    this.#held.delete(part);
    this.#spare.push(buffer);
    if (isLong) this.#longParts--;
    this.#goOn();
    this.#memory.check();
  }

  #frameOf(use: number): FrameBuffer {
    return this.#frames[use === KEEP.secret ? 1 : 0];
  }

  #closeFrame(use: number): void {
    const frame = this.#frameOf(use);
    const chunks = frame.count;
    if (chunks === 0) return;
    const bytes = frame.take();
    const encoded = encodeFrame(bytes);
    this.#send({ kind: 'frame', use, chunks, raw: bytes.length, encoded }, [encoded.buffer]);
  }

  #buffer(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(PART);
  }
}
