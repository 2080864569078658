import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { writeAll } from '../../core/bytes.ts';
import { digestOf, finishDigest, type Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import type { Job } from '../../core/threads/job.ts';
import { recordsOf } from './chunk-index.ts';
import { checkPack, decodePack, type OpenPack } from './pack.ts';
import { openPayload } from '../payload.ts';
import { readBytes, type BytesPlace } from '../place.ts';
import { placedFile } from '../reader.ts';

/** The digest of the bytes of a file. */
export const DIGEST_FILE: Job<BytesPlace, Digest> = {
  name: 'store/digest-file',
  run(place) {
    const hash = createHash('sha256');
    for (const bytes of placedFile(place).parts()) hash.update(bytes);
    return finishDigest(hash);
  },
};

/** Copies the bytes of a file to a new one, 0600. Not durable. */
export const COPY_FILE: Job<{ readonly from: BytesPlace; readonly to: string }, null> = {
  name: 'store/copy-file',
  run({ from, to }) {
    const fd = openSync(to, 'wx', 0o600);
    try {
      for (const bytes of placedFile(from).parts()) writeAll(fd, bytes);
    } finally {
      closeSync(fd);
    }
    return null;
  },
};

/** A pack with the key that its header was opened with. */
export interface PackSource {
  readonly digest: Digest;
  readonly place: BytesPlace;
  /** Bytes of the age header, and the key that it wraps. */
  readonly header: number;
  readonly fileKey: Uint8Array;
}

/** Opens a pack and gives the records of its chunks for the index; `deep` checks each chunk against its digest, too. Throws PACK_DAMAGED. */
export const READ_PACK: Job<PackSource & { readonly deep: boolean }, Uint8Array<ArrayBuffer>> = {
  name: 'store/read-pack',
  run({ deep, ...source }, scratch) {
    const pack = openSource(source, {
      named: true,
      file: (size) => scratch.take('file', size),
      plaintext: (size) => scratch.take('plaintext', size),
    });
    if (deep) checkPack(pack);
    return recordsOf(pack.header);
  },
  gives: (records) => [records.buffer],
};

/**
 * Opens a pack: it is sealed with the key, its inside is well formed, and with `named` its bytes are what its name says. Without
 * that nothing taken out may be believed before it was checked, as a staged tree is from the disk. Throws PACK_DAMAGED.
 */
export function openSource(
  { digest, place, header, fileKey }: PackSource,
  { named, file: fileRoom, plaintext: plainRoom }: OpenOptions,
): OpenPack & { readonly bytes: number } {
  const file = readBytes(place, { offset: 0, length: place.size }, fileRoom);
  if (named && digestOf(file) !== digest) throw new AgentError('PACK_DAMAGED', `pack ${digest.slice(0, 12)} is not what its name says`);
  const plaintext = openPayload(file.subarray(header), fileKey, plainRoom);
  if (plaintext === null) throw new AgentError('PACK_DAMAGED', `pack ${digest.slice(0, 12)} does not open with its store key`);
  return { ...decodePack(plaintext), bytes: plaintext.length };
}

/** How a pack is opened. */
interface OpenOptions {
  readonly named: boolean;
  /** Makes the buffers that its bytes are read and decrypted into. */
  readonly file?: (size: number) => Buffer;
  readonly plaintext?: (size: number) => Buffer;
}
