import { constants, rmSync } from 'node:fs';
import { mkdtemp, open, stat, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { AgentError, systemCode } from '../../core/errors.ts';
import { explain } from '../../core/system-error.ts';
import { parseChain, type Chain } from '../../ledger/chain.ts';
import { LEDGER_FILE } from '../../store/layout.ts';
import { checkFormat, directoryReader, type StoreReader } from '../../store/reader.ts';
import { tarReader } from '../../store/tar.ts';
import type { Ports } from '../session/ports.ts';
import { word } from '../../core/shell.ts';
import { controlOf, isRoot } from '../session/control.ts';

/** A bundle that was opened for reading: its ledger is verified, its bytes are not yet. */
export interface Bundle {
  readonly reader: StoreReader;
  readonly chain: Chain;
  /** The root, where the path names one and no bundle. */
  readonly root: string | null;
}

/** Where the bytes of `-` come from. */
export type Input = AsyncIterable<Uint8Array>;

/**
 * Opens what `path` names: a tar file, a bundle directory, an agent root, or `-` for `input`. Runs `work` and closes it.
 * Nothing is left on disk: standard input is kept in an unlinked file, sealed as it came.
 */
export async function withBundle<T>(
  ports: Ports,
  source: { readonly path: string; readonly input: Input },
  work: (bundle: Bundle) => Promise<T>,
): Promise<T> {
  const { path } = source;
  if (path === '-') {
    const handle = await spool(source.input);
    return withTar(handle, 'standard input', work);
  }
  const absolute = resolve(ports.cwd, path);
  const found = await stat(absolute).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT')
      throw new AgentError('FILE_MISSING', `'${path}' does not exist`, {
        hints: [{ command: `ls -d ${word(path)}`, effect: 'relative paths are taken from the current directory, or from that of -C' }],
      });
    throw explain(error, path);
  });
  if (!found.isDirectory()) {
    if (!found.isFile())
      throw new AgentError('FILE_UNREADABLE', `'${path}' is no regular file`, {
        hints: [{ command: `agent verify - <${word(path)}`, effect: 'reads it as a stream; nothing was changed' }],
      });
    const handle = await open(absolute, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
      throw explain(error, path);
    });
    return withTar(handle, path, work);
  }
  const isAgent = await isRoot(ports.files, absolute);
  const reader = directoryReader(ports.files, isAgent ? await controlOf(ports.files, absolute) : absolute, path);
  return work({ ...(await openReader(reader)), root: isAgent ? absolute : null });
}

async function withTar<T>(handle: FileHandle, name: string, work: (bundle: Bundle) => Promise<T>): Promise<T> {
  try {
    return await work({ ...(await openReader(await tarReader(handle, name))), root: null });
  } finally {
    await handle.close();
  }
}

async function openReader(reader: StoreReader): Promise<{ readonly reader: StoreReader; readonly chain: Chain }> {
  await checkFormat(reader);
  return { reader, chain: parseChain((await reader.read(LEDGER_FILE)) ?? Buffer.alloc(0)) };
}

async function spool(input: Input): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'perdure-'));
  const handle = await open(join(directory, 'bundle'), 'wx+', 0o600);
  // The name goes at once; the bytes go with the handle.
  rmSync(directory, { recursive: true });
  try {
    for await (const bytes of input) await handle.writeFile(bytes);
  } catch (error) {
    await handle.close();
    throw explain(error, 'standard input');
  }
  return handle;
}
