import type { Digest } from '../../core/digest.ts';
import { VERSION, type KEEP, type LaneFile, type LanePart } from '../lane/messages.ts';
import type { HeaderKind } from '../lane/pieces.ts';

/** Where a chunk of a file goes. */
export type Keep = (typeof KEEP)[keyof typeof KEEP];

/** What tells a file from another one in its place, and whether it was written since. */
export interface FileVersion {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** A file that is to be read, and what becomes of it. */
export interface ReadTask extends LaneFile {
  /** Decides where the chunks of the next part go; at once but for the first time. */
  judge(digests: readonly Digest[], header: HeaderKind): readonly Keep[] | Promise<readonly Keep[]>;
  /** Takes what was read: the digest of the whole, the bytes that there were, and the file after it was read. */
  done(sha256: Digest, read: number, version: FileVersion): void;
  /** Takes what the system said, or why reading ended. */
  fail(error: unknown): void;
}

/** Tells a task what its file in a part came to. */
export function settle(
  { task, read }: { readonly task: ReadTask; readonly read: number },
  { errors, wholes, versions }: LanePart,
  at: number,
): void {
  const code = errors.get(at);
  if (code !== undefined) {
    task.fail(Object.assign(new Error(code), { code }));
    return;
  }
  const [dev = 0n, ino = 0n, size = 0n, mtimeNs = 0n, ctimeNs = 0n] = versions.subarray(at * VERSION, at * VERSION + VERSION);
  task.done(hexAt(asBuffer(wholes), at), read, { dev, ino, size, mtimeNs, ctimeNs });
}

/** The same bytes as a buffer. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The digest with this number. */
export function hexAt(digests: Buffer, number: number): Digest {
  return digests.toString('hex', number * 32, number * 32 + 32) as Digest;
}
