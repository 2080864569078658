import type { FileHandle } from 'node:fs/promises';
import type * as Tar from 'tar';
import { AgentError } from '../core/errors.ts';
import { checkSize, type StoredFile, type StoreReader } from './reader.ts';

const BLOCK = 512;
const library = (): Promise<typeof Tar> => import('tar');

/** A file for the tar stream. */
export interface TarFile {
  readonly name: string;
  readonly content: StoredFile;
}

/** Writes a plain ustar archive of the files, one after the other, and its end. */
export async function* writeTar(files: AsyncIterable<TarFile>): AsyncGenerator<Buffer> {
  const { Header } = await library();
  for await (const { name, content } of files) {
    const header = new Header({ path: name, size: content.size, mode: 0o600, uid: 0, gid: 0, mtime: new Date(0), type: 'File' });
    const block = Buffer.alloc(BLOCK);
    if (header.encode(block)) throw new AgentError('INTERNAL', `'${name}' does not fit a tar header`);
    yield block;
    yield* content.parts();
    if (content.size % BLOCK !== 0) yield Buffer.alloc(BLOCK - (content.size % BLOCK));
  }
  yield Buffer.alloc(2 * BLOCK);
}

/**
 * Reads a tar archive at random, as a bundle: regular files and directories only, every header checksum checked, an end
 * of two empty blocks required (a cut archive is damage). `handle` stays the caller's to close.
 */
export async function tarReader(handle: FileHandle, name: string): Promise<StoreReader> {
  const { Header } = await library();
  const total = (await handle.stat()).size;
  const entries = new Map<string, { readonly offset: number; readonly size: number }>();
  const damaged = (what: string): AgentError =>
    new AgentError('BUNDLE_DAMAGED', `'${name}' is damaged: ${what}`, {
      hints: [{ command: 'agent verify BUNDLE', effect: 'after you fetched it again from where it came; nothing was changed' }],
    });
  let at = 0;
  for (;;) {
    const block = await readAt(handle, at, BLOCK);
    if (block.length < BLOCK) throw damaged('it ends before its end mark (a cut copy)');
    if (block.every((byte) => byte === 0)) break;
    const header = decodeHeader(() => new Header(block));
    if (header?.cksumValid !== true || header.path === undefined) throw damaged(`no tar header at byte ${String(at)}`);
    at += BLOCK;
    const size = header.size ?? 0;
    if (header.type !== 'File' && header.type !== 'OldFile' && header.type !== 'Directory')
      throw damaged(`'${header.path}' is a ${header.type}, which no bundle has`);
    const file = header.path.replace(/^\.\//, '');
    if (header.type !== 'Directory') {
      if (entries.has(file)) throw damaged(`'${file}' is in it twice`);
      if (at + size > total) throw damaged(`'${file}' is cut`);
      entries.set(file, { offset: at, size });
    }
    at += Math.ceil(size / BLOCK) * BLOCK;
  }
  if (total < at + 2 * BLOCK) throw damaged('it ends before its end mark (a cut copy)');
  for (let rest = at; rest < total; rest += 1 << 20)
    if ((await readAt(handle, rest, Math.min(1 << 20, total - rest))).some((byte) => byte !== 0))
      throw damaged('something follows its end mark');
  return {
    name,
    list: (under = '') =>
      Promise.resolve(
        [...entries]
          .filter(([file]) => under === '' || file.startsWith(`${under}/`))
          .map(([file, { size }]) => ({ name: file, size }))
          .sort((a, b) => (a.name < b.name ? -1 : 1)),
      ),
    locate(file) {
      const entry = entries.get(file);
      return Promise.resolve(entry === undefined ? null : { fd: handle.fd, ...entry });
    },
    async read(file) {
      const entry = entries.get(file);
      if (entry !== undefined) checkSize({ file, size: entry.size, store: name });
      return entry === undefined ? null : readAt(handle, entry.offset, entry.size);
    },
  };
}

/** A header, or null where it has numbers that no header has. */
function decodeHeader<H>(decode: () => H): H | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

async function readAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  let got = 0;
  while (got < length) {
    const { bytesRead } = await handle.read(bytes, got, length - got, offset + got);
    if (bytesRead === 0) break;
    got += bytesRead;
  }
  return bytes.subarray(0, got);
}
