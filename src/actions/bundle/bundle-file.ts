import { createHash, randomBytes } from 'node:crypto';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { writeAll } from '../../core/bytes.ts';
import { finishDigest, type Digest } from '../../core/digest.ts';
import { explain } from '../../core/system-error.ts';
import { writeTar, type TarFile } from '../../store/tar.ts';
import type { Session } from '../session/session.ts';
import { ABANDONED } from './bundle-target.ts';
import { fileOf, type Contents } from './pack-contents.ts';

/** A file that was written, and the digest that it is to have. */
export interface Written {
  readonly path: string;
  /** Null where nobody asked for it. */
  readonly digest: Digest | null;
}

/** Writes a bundle as a tar stream; each part is good until `write` resolves. Returns its bytes. */
export async function writeStream(session: Session, contents: Contents, write: (bytes: Buffer) => Promise<void>): Promise<number> {
  const files = async function* (): AsyncGenerator<TarFile> {
    for (const name of contents.names) yield { name, content: await fileOf(session, contents, name) };
  };
  let total = 0;
  for await (const bytes of writeTar(files())) {
    total += bytes.length;
    await write(bytes);
    session.ports.progress({ phase: 'pack', bytes: BigInt(total) });
  }
  return total;
}

/** Writes a bundle as a tar file, durably, in place of what has its name; `hashed` asks for its digest. */
export async function writeFile(
  session: Session,
  contents: Contents,
  { target, hashed }: { readonly target: string; readonly hashed: boolean },
): Promise<{ readonly bytes: number; readonly files: readonly Written[] }> {
  // One that was cut an hour ago or more is nobody's.
  await session.ports.files.sweep(dirname(target), session.ports.clock.now() - ABANDONED, basename(target));
  const temporary = `${target}.${randomBytes(6).toString('hex')}.tmp`;
  const handle = await open(temporary, 'wx', 0o600).catch((error: unknown) => {
    throw explain(error, target);
  });
  const hash = createHash('sha256');
  const disk = new EarlySync(handle);
  try {
    const bytes = await writeStream(session, contents, (part) => {
      if (hashed) hash.update(part);
      writeAll(handle.fd, part);
      disk.wrote(part.length);
      return Promise.resolve();
    });
    await disk.end();
    await rename(temporary, target);
    await session.ports.files.syncDirectory(dirname(target));
    return { bytes, files: [{ path: target, digest: hashed ? finishDigest(hash) : null }] };
  } catch (error) {
    await rm(temporary, { force: true });
    throw explain(error, target);
  } finally {
    await handle.close();
  }
}

/** Bytes after which the disk is asked to begin. */
const EARLY = 32 * 1024 * 1024;

/** Makes a file durable while it is written: at the end the disk has little left to do. A failed sync is thrown, never retried. */
class EarlySync {
  readonly #handle: Pick<FileHandle, 'datasync' | 'sync'>;
  #unsynced = 0;
  #running: Promise<void> | null = null;
  #failure: unknown = null;

  constructor(handle: Pick<FileHandle, 'datasync' | 'sync'>) {
    this.#handle = handle;
  }

  /** Notes bytes that were written. */
  wrote(bytes: number): void {
    this.#unsynced += bytes;
    if (this.#unsynced >= EARLY && this.#running === null) {
      this.#unsynced = 0;
      this.#running = this.#handle
        .datasync()
        .catch((error: unknown) => {
          this.#failure ??= error;
        })
        .then(() => {
          this.#running = null;
        });
    }
  }

  async end(): Promise<void> {
    await this.#running;
    if (this.#failure !== null) throw this.#failure as Error;
    await this.#handle.sync();
  }
}
