import { canonical, parseJson, type Json } from '../../core/canonical.ts';
import { digestOf, type Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import { packHeaderValid } from '../../core/generated/validators.js';
import type { Job } from '../../core/threads/job.ts';
import { GarbageBudget } from '../../core/memory.ts';
import { decodeFrame } from './frame.ts';
import { sealPayload, type PayloadKey } from '../payload.ts';

/** A frame of a pack: its encoded size, its plaintext size, and the chunks in it, one after the other. */
export interface FrameEntry {
  readonly size: number;
  readonly raw: number;
  readonly chunks: readonly (readonly [Digest, number])[];
}

/** The first line of a pack. */
export interface PackHeader {
  readonly format: 'perdure-pack/1';
  readonly frames: readonly FrameEntry[];
  /** The chunk by which the pack's state is entered: the facts, or the sheet of secrets. */
  readonly top?: Digest;
  /** In the last pack of a fold: the top chunk of each pack whose place it took. */
  readonly tops?: Readonly<Record<string, Digest>>;
}

/** A pack in plaintext, parsed. */
export interface OpenPack {
  readonly header: PackHeader;
  /** The plaintext of one frame. */
  frame(index: number): Buffer;
}

/** The first line of a pack, which its frames follow. */
export function encodeHeader(header: PackHeader): Uint8Array {
  return Buffer.from(`${canonical(header as unknown as Json)}\n`);
}

/** Seals the parts of a pack into a shared buffer: the size of its ciphertext, and the digest by which it is named. */
export const SEAL_PACK: Job<
  { readonly parts: readonly Uint8Array[]; readonly key: PayloadKey; readonly room: SharedArrayBuffer },
  { readonly size: number; readonly digest: Digest }
> = {
  name: 'store/seal-pack',
  run({ parts, key, room }) {
    const bytes = sealPayload(parts, key, Buffer.from(room));
    return { size: bytes.length, digest: digestOf(bytes) };
  },
};

/** Reads the plaintext of a pack; throws PACK_DAMAGED. */
export function decodePack(plaintext: Buffer): OpenPack {
  const end = plaintext.indexOf(0x0a);
  const value = end < 0 ? undefined : parseJson(plaintext.toString('utf8', 0, end));
  if (!packHeaderValid(value)) throw new AgentError('PACK_DAMAGED', 'a pack has no valid header');
  const header = value as PackHeader;
  const starts: number[] = [];
  let at = end + 1;
  for (const frame of header.frames) {
    starts.push(at);
    at += frame.size;
    if (frame.chunks.reduce((sum, [, size]) => sum + size, 0) !== frame.raw)
      throw new AgentError('PACK_DAMAGED', 'a frame of a pack does not add up');
  }
  if (at !== plaintext.length) throw new AgentError('PACK_DAMAGED', 'a pack is longer or shorter than its header says');
  return {
    header,
    frame(index) {
      const entry = header.frames[index];
      const start = starts[index];
      if (entry === undefined || start === undefined) throw new AgentError('PACK_DAMAGED', 'a pack has no such frame');
      return decodeFrame(plaintext.subarray(start, start + entry.size), entry.raw);
    },
  };
}

/** Bytes of decoded frames that are left behind between two collections. */
const GARBAGE = 8 * 1024 * 1024;

/** Checks every chunk of a pack against its digest; throws PACK_DAMAGED. */
export function checkPack(pack: OpenPack): void {
  const memory = new GarbageBudget(GARBAGE);
  pack.header.frames.forEach((entry, index) => {
    memory.check();
    const plaintext = pack.frame(index);
    let at = 0;
    for (const [digest, size] of entry.chunks) {
      if (digestOf(plaintext.subarray(at, at + size)) !== digest)
        throw new AgentError('PACK_DAMAGED', 'a chunk is not what its digest says');
      at += size;
    }
  });
}
