import { randomBytes } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { AgentError, systemCode } from './errors.ts';
import type { BeforeChange, Content, FileSystem, Files } from './file-layer.ts';
import { exists, makeDirectories, openDirectories } from './directories.ts';
import { explain, isAbsent } from './system-error.ts';
import { word } from './shell.ts';

export type { BeforeChange, FileId, FileSystem, Files } from './file-layer.ts';

/** What a file system without hard links (FAT, exFAT) says of link(2). */
const NO_LINKS: readonly string[] = ['EPERM', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP'];

/** Writes all bytes where the handle is; in one call where the system takes them so. */
async function writeAll(handle: Pick<FileHandle, 'write'>, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += (await handle.write(bytes, done, bytes.length - done)).bytesWritten;
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
    const handle = await io.open(temporary, 'wx', mode).catch((error: unknown) => {
      throw explain(error, path);
    });
    try {
      if (typeof bytes === 'string') await handle.writeFile(bytes);
      else for (const part of bytes instanceof Uint8Array ? [bytes] : bytes) await writeAll(handle, part);
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
    for (const made of await makeDirectories(io, path)) await syncDirectory(dirname(made));
  };

  /** Makes a file where hard links are not to be had: exclusive, but a crash can leave it half-written. */
  const writeNew = async (path: string, bytes: Uint8Array | string, mode: number): Promise<boolean> => {
    const handle = await io.open(path, 'wx', mode).catch((error: unknown) => {
      if (systemCode(error) === 'EEXIST') return null;
      throw explain(error, path);
    });
    if (handle === null) return false;
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await syncDirectory(dirname(path));
    return true;
  };

  const readIfPresent = async (path: string): Promise<Buffer | null> => {
    try {
      // Not waiting for the other end of a FIFO, and not reading a device without end.
      const handle = await io.open(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
      try {
        if (!(await handle.stat()).isFile())
          throw new AgentError('FILE_UNREADABLE', `'${path}' is no regular file`, {
            hints: [{ command: `ls -l ${word(path)}`, effect: 'nothing was changed' }],
          });
        return await handle.readFile();
      } finally {
        await handle.close();
      }
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
        const stat = await io.lstat(path);
        if (!stat.isFile() && !stat.isDirectory())
          throw new AgentError('FILE_UNREADABLE', `'${path}' is a link or a special file`, {
            hints: [{ command: `ls -l ${word(path)}`, effect: 'a regular file belongs there; nothing was changed' }],
          });
        return stat.size;
      } catch (error) {
        if (isAbsent(error)) return null;
        throw explain(error, path);
      }
    },
    async modified(path) {
      return io.lstat(path).then(
        (stat) => stat.mtimeMs,
        (error: unknown) => {
          if (isAbsent(error)) return null;
          throw explain(error, path);
        },
      );
    },
    exists: (path) => exists(io, path),
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
      await io.rename(temporary, path).catch(async (error: unknown) => {
        await io.rm(temporary, { force: true });
        throw explain(error, path);
      });
      await syncDirectory(dirname(path));
    },
    async create(path, bytes, { mode = 0o600 } = {}) {
      const temporary = await writeTemporary(path, bytes, mode);
      try {
        before('link', path);
        await io.link(temporary, path);
      } catch (error) {
        if (systemCode(error) === 'EEXIST') return false;
        if (!NO_LINKS.includes(systemCode(error) ?? '')) throw explain(error, path);
        return await writeNew(path, bytes, mode);
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
      } catch (error) {
        throw explain(error, path);
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
      await io.rm(path, { force: true, recursive: true }).catch(async (error: unknown) => {
        if (isAbsent(error)) return;
        if (!['EACCES', 'EPERM'].includes(systemCode(error) ?? '')) throw explain(error, path);
        // A directory of the tree may not be written: it is this account's, and goes all the same.
        await openDirectories(io, path);
        await io.rm(path, { force: true, recursive: true }).catch((again: unknown) => {
          throw explain(again, path);
        });
      });
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
