import { randomBytes } from 'node:crypto';
import type * as nodeFs from 'node:fs';
import { dirname } from 'node:path';
import { AgentError, systemCode } from './errors.ts';
import { explain, isAbsent } from './system-error.ts';

/** The part of node:fs that the file layer stands on; tests give memfs. */
export type FileSystem = Pick<typeof nodeFs, 'promises' | 'constants'>;

/** Called before each single change to the file system; a test makes it throw, which is a crash at that point. */
export type BeforeChange = (change: string, path: string) => void;

/** What a file is to hold: whole, or part by part. */
type Content = Uint8Array | string | AsyncIterable<Uint8Array>;

/** What identifies a file or directory beyond its path. */
export interface FileId {
  readonly dev: string;
  readonly ino: string;
  /** Birth time in nanoseconds, '0' where the file system has none. */
  readonly birth: string;
}

/**
 * The one file layer: every write of the control and host directories goes through it. A write is a temporary name
 * beside the target, write, fsync, rename or link, fsync of the directory and of each new ancestor. A failed fsync
 * throws and is never retried: after it the page cache may claim what the disk does not have.
 */
export interface Files {
  /** The bytes of a file; throws FILE_MISSING or FILE_UNREADABLE. */
  read(path: string): Promise<Buffer>;
  /** The bytes of a file, or null where there is none. */
  readIfPresent(path: string): Promise<Buffer | null>;
  /** Up to `length` bytes from `offset`. */
  readRange(path: string, range: { readonly offset: number; readonly length: number }): Promise<Buffer>;
  /** Size in bytes, or null where there is none. */
  size(path: string): Promise<number | null>;
  exists(path: string): Promise<boolean>;
  identify(path: string): Promise<FileId | null>;
  /** Names in a directory, sorted; empty where it does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Makes a directory (0700) and its missing ancestors, each durable in its parent. */
  makeDirectory(path: string): Promise<void>;
  /** Puts a whole file in place of what is there. Mode 0600 unless given. */
  replace(path: string, bytes: Content, options?: { readonly mode?: number }): Promise<void>;
  /** Puts a file where none is, by link(2): of two at once exactly one gets true. */
  create(path: string, bytes: Uint8Array | string, options?: { readonly mode?: number }): Promise<boolean>;
  /** Appends at exactly `at` bytes, durably; throws RACE_LOST where the file ends elsewhere. */
  append(path: string, bytes: Uint8Array | string, options: { readonly at: number }): Promise<void>;
  truncate(path: string, size: number): Promise<void>;
  remove(path: string): Promise<void>;
  /** Removes temporaries that a crash left in a directory: those of names with `prefix`, last written before `before` (ms since 1970). */
  sweep(path: string, before: number, prefix?: string): Promise<void>;
  removeTree(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  syncDirectory(path: string): Promise<void>;
}

/** Names of the temporaries that this layer makes. */
const TEMPORARY = /\.[0-9a-f]{12}\.tmp$/;

/** Builds the file layer on a file system. */
export function createFiles(fs: FileSystem, before: BeforeChange = () => undefined): Files {
  const io = fs.promises;

  const syncDirectory = async (path: string): Promise<void> => {
    before('syncDirectory', path);
    const handle = await io.open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  };

  const writeTemporary = async (path: string, bytes: Content, mode: number): Promise<string> => {
    await makeDirectory(dirname(path));
    const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
    before('write', temporary);
    const handle = await io.open(temporary, 'wx', mode);
    try {
      if (typeof bytes === 'string' || bytes instanceof Uint8Array) await handle.writeFile(bytes);
      else for await (const part of bytes) await handle.writeFile(part);
      before('sync', temporary);
      await handle.sync();
    } catch (error) {
      await handle.close();
      await io.rm(temporary, { force: true });
      throw explain(error, path);
    }
    await handle.close();
    return temporary;
  };

  const makeDirectory = async (path: string): Promise<void> => {
    before('makeDirectory', path);
    const first = await io.mkdir(path, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw explain(error, path);
    });
    if (first === undefined) return;
    for (let made = path; ; made = dirname(made)) {
      await syncDirectory(dirname(made));
      if (made === first || made === dirname(made)) return;
    }
  };

  const readIfPresent = async (path: string): Promise<Buffer | null> => {
    try {
      return await io.readFile(path);
    } catch (error) {
      if (isAbsent(error)) return null;
      throw explain(error, path);
    }
  };

  return {
    readIfPresent,
    makeDirectory,
    syncDirectory,
    async read(path) {
      const bytes = await readIfPresent(path);
      if (bytes === null) throw new AgentError('FILE_MISSING', `'${path}' does not exist`);
      return bytes;
    },
    async readRange(path, { offset, length }) {
      const handle = await io.open(path, 'r');
      try {
        const bytes = Buffer.alloc(length);
        let got = 0;
        while (got < length) {
          const { bytesRead } = await handle.read(bytes, got, length - got, offset + got);
          if (bytesRead === 0) break;
          got += bytesRead;
        }
        return bytes.subarray(0, got);
      } finally {
        await handle.close();
      }
    },
    async size(path) {
      try {
        return (await io.lstat(path)).size;
      } catch (error) {
        if (isAbsent(error)) return null;
        throw explain(error, path);
      }
    },
    async exists(path) {
      return io.lstat(path).then(
        () => true,
        (error: unknown) => {
          if (isAbsent(error)) return false;
          throw explain(error, path);
        },
      );
    },
    async identify(path) {
      try {
        const stat = await io.lstat(path, { bigint: true });
        return { dev: String(stat.dev), ino: String(stat.ino), birth: String(stat.birthtimeNs) };
      } catch (error) {
        if (isAbsent(error)) return null;
        throw explain(error, path);
      }
    },
    async list(path) {
      try {
        return (await io.readdir(path)).sort();
      } catch (error) {
        if (isAbsent(error)) return [];
        throw explain(error, path);
      }
    },
    async replace(path, bytes, { mode = 0o600 } = {}) {
      const temporary = await writeTemporary(path, bytes, mode);
      before('rename', path);
      await io.rename(temporary, path);
      await syncDirectory(dirname(path));
    },
    async create(path, bytes, { mode = 0o600 } = {}) {
      const temporary = await writeTemporary(path, bytes, mode);
      try {
        before('link', path);
        await io.link(temporary, path);
      } catch (error) {
        if (systemCode(error) === 'EEXIST') return false;
        throw explain(error, path);
      } finally {
        await io.rm(temporary, { force: true });
      }
      await syncDirectory(dirname(path));
      return true;
    },
    async append(path, bytes, { at }) {
      before('append', path);
      const handle = await io.open(path, 'a', 0o600).catch((error: unknown) => {
        throw explain(error, path);
      });
      try {
        if ((await handle.stat()).size !== at) throw new AgentError('RACE_LOST', `'${path}' changed while it was written`);
        await handle.writeFile(bytes);
        before('sync', path);
        await handle.sync();
      } finally {
        await handle.close();
      }
      if (at === 0) await syncDirectory(dirname(path));
    },
    async truncate(path, size) {
      before('truncate', path);
      const handle = await io.open(path, 'r+');
      try {
        await handle.truncate(size);
        await handle.sync();
      } finally {
        await handle.close();
      }
    },
    async remove(path) {
      before('remove', path);
      await io.rm(path, { force: true });
    },
    async sweep(path, before, prefix = '') {
      const names = await io.readdir(path).catch(() => []);
      for (const name of names) {
        if (!TEMPORARY.test(name) || !name.startsWith(prefix)) continue;
        const found = await io.lstat(`${path}/${name}`).catch(() => null);
        if (found !== null && found.mtimeMs < before) await io.rm(`${path}/${name}`, { force: true });
      }
    },
    async removeTree(path) {
      before('removeTree', path);
      await io.rm(path, { force: true, recursive: true });
    },
    async rename(from, to) {
      before('rename', to);
      await io.rename(from, to).catch((error: unknown) => {
        throw explain(error, to);
      });
      await syncDirectory(dirname(to));
      if (dirname(from) !== dirname(to)) await syncDirectory(dirname(from));
    },
  };
}
