import { join } from 'node:path';
import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { partsOf, type BytesPlace } from './place.ts';
import { FORMAT_FILE, FORMAT_LINE, kindOfFile, sizeLimit } from './layout.ts';

/** Bytes that are read at a time. */
const PART = 1024 * 1024;

/** A file of a store that is read part by part. */
export interface StoredFile {
  readonly size: number;
  /** Its bytes, part by part; each is good until the next is asked for. */
  parts(): Generator<Buffer>;
}

/** Reads the travelling files of a control directory or a bundle, wherever they lie. Writes nothing. */
export interface StoreReader {
  /** How to name it to a person. */
  readonly name: string;
  /** Names and sizes of the travelling files, sorted by name; with `under` only those of one directory, such as `keys`. */
  list(under?: string): Promise<readonly { readonly name: string; readonly size: number }[]>;
  /** A file's bytes, or null where there is none. */
  read(name: string): Promise<Buffer | null>;
  /** Where a file lies, for whoever reads it part by part or on another thread; or null where there is none. */
  locate(name: string): Promise<BytesPlace | null>;
}

/** Reads a directory: `.perdure` of a root, or a bundle directory. */
export function directoryReader(files: Files, path: string, name = path): StoreReader {
  return {
    name,
    async read(file) {
      const size = await files.size(join(path, file));
      return size === null ? null : files.readIfPresent(join(path, checkSize({ file, size, store: name })));
    },
    async locate(file) {
      const target = join(path, file);
      const size = await files.size(target);
      return size === null ? null : { path: target, size };
    },
    async list(under = '') {
      const found: { name: string; size: number }[] = [];
      const visit = async (prefix: string, depth: number): Promise<void> => {
        for (const entry of await files.list(join(path, prefix))) {
          const file = prefix === '' ? entry : `${prefix}/${entry}`;
          if (kindOfFile(file) !== null) found.push({ name: file, size: (await files.size(join(path, file))) ?? 0 });
          else if (
            depth < 2 &&
            (prefix === '' ? ['manifests', 'packlists', 'packs', 'keys'] : prefix === 'packs' ? [entry] : []).includes(entry)
          )
            await visit(file, depth + 1);
        }
      };
      await visit(under, under === '' ? 0 : 1);
      return found;
    },
  };
}

/** Gives the file's name back; throws BUNDLE_DAMAGED where it is larger than any of its kind. */
export function checkSize({ file, size, store }: { readonly file: string; readonly size: number; readonly store: string }): string {
  if (size <= sizeLimit(file)) return file;
  throw new AgentError('BUNDLE_DAMAGED', `'${file}' in '${store}' is larger than any such file is`);
}

/** Checks the format line before anything else is read; throws BUNDLE_DAMAGED or FORMAT_UNSUPPORTED. */
export async function checkFormat(reader: StoreReader): Promise<void> {
  const text = (await reader.read(FORMAT_FILE))?.toString('latin1');
  if (text === FORMAT_LINE) return;
  if (text === undefined)
    throw new AgentError('BUNDLE_DAMAGED', `'${reader.name}' has no format file: it is no agent and no bundle, or the copy was cut`);
  if (/^perdure [0-9]+\n$/.test(text))
    throw new AgentError('FORMAT_UNSUPPORTED', `'${reader.name}' is in format '${text.trim()}'; this program reads 'perdure 1'`, {
      hints: [{ command: 'npm i -g perdure@latest', effect: 'a newer program may read it; nothing was changed' }],
    });
  throw new AgentError('BUNDLE_DAMAGED', `the format file of '${reader.name}' is damaged`);
}

/** Finds a file in the first of several readers that has it. */
export function locateIn(readers: readonly StoreReader[]): StoreReader['locate'] {
  return async (name) => {
    for (const reader of readers) {
      const place = await reader.locate(name);
      if (place !== null) return place;
    }
    return null;
  };
}

/** Reads from the first of several readers that has a file. */
export function readFrom(readers: readonly StoreReader[]): (name: string) => Promise<Buffer | null> {
  return async (name) => {
    for (const reader of readers) {
      const bytes = await reader.read(name);
      if (bytes !== null) return bytes;
    }
    return null;
  };
}

/** A file whose bytes lie somewhere, so that a pack never is in memory whole. */
export function placedFile(place: BytesPlace): StoredFile {
  return { size: place.size, parts: () => partsOf(place, Buffer.allocUnsafeSlow(Math.max(1, Math.min(PART, place.size)))) };
}

/** A file whose bytes are at hand. */
export function heldFile(bytes: Buffer): StoredFile {
  return {
    size: bytes.length,
    *parts() {
      yield bytes;
    },
  };
}
