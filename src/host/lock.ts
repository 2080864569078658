import * as nodeFs from 'node:fs';
import { join } from 'node:path';
import { canonical, parseJson } from '../core/canonical.ts';
import type { Digest } from '../core/digest.ts';
import { AgentError, systemCode } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { explain } from '../core/system-error.ts';

/** A process, told apart from a later one with the same number. */
interface ProcessId {
  readonly pid: number;
  /** Start time in clock ticks since boot, and the boot: no two processes share both. */
  readonly start: string;
  readonly boot: string;
}

interface LockOptions {
  readonly directory: string;
  readonly agent: Digest;
  readonly self: ProcessId;
  readonly isAlive: (process: ProcessId) => boolean;
}

/** Beyond this many milliseconds without a sign of life a lock of an unknown process is stale. */
const STALE = 10_000;

/**
 * Takes the one lock that an agent has on this host and runs `work` under it; throws LOCK_HELD where another process
 * has it. The lock of a process of this boot that is gone is taken over at once, any other after ten seconds without a
 * sign of life. Should the lock be lost all the same, the claim of the seq in the ledger still lets only one writer win.
 */
export async function withLock<T>(files: Files, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const { directory, agent, self } = options;
  const base = join(directory, 'agents', agent);
  await files.makeDirectory(join(directory, 'agents'));
  const { default: lockfile } = await import('proper-lockfile');
  const take = async (): Promise<() => Promise<void>> =>
    lockfile.lock(base, {
      realpath: false,
      lockfilePath: `${base}.lock`,
      stale: STALE,
      update: 2000,
      fs: { ...nodeFs },
      onCompromised: () => undefined,
    });
  // A process that lives is never stale, however long it was stopped.
  const before = await ownerOf(files, base);
  if (before !== null && options.isAlive(before)) throw held(before);
  let release: () => Promise<void>;
  try {
    release = await take();
  } catch (error) {
    if (systemCode(error) !== 'ELOCKED') throw explain(error, base);
    const owner = await ownerOf(files, base);
    if (owner === null || options.isAlive(owner)) throw held(owner);
    // The library takes over a lock whose time is long past.
    await nodeFs.promises.utimes(`${base}.lock`, 0, 0).catch(() => undefined);
    release = await take().catch(() => Promise.reject(held(null)));
  }
  try {
    const id = await files.identify(`${base}.lock`);
    await nodeFs.promises.writeFile(`${base}.owner`, canonical({ ...self, ino: id?.ino, birth: id?.birth }));
    return await work();
  } finally {
    if ((await ownerOf(files, base))?.pid === self.pid) await nodeFs.promises.rm(`${base}.owner`, { force: true });
    await release().catch(() => undefined);
  }
}

/** The process that holds the lock, where its note belongs to the lock directory that is there. */
async function ownerOf(files: Files, base: string): Promise<ProcessId | null> {
  const note = parseJson((await files.readIfPresent(`${base}.owner`))?.toString('utf8') ?? '');
  const id = await files.identify(`${base}.lock`);
  if (typeof note !== 'object' || note === null || !('pid' in note && 'ino' in note && 'birth' in note)) return null;
  return note.ino === id?.ino && note.birth === id?.birth ? (note as unknown as ProcessId) : null;
}

function held(owner: ProcessId | null): AgentError {
  const who = owner === null ? 'another process' : `process ${String(owner.pid)}`;
  return new AgentError('LOCK_HELD', `${who} is working on this agent`, {
    hints: [{ command: 'agent status', effect: 'then run the same command again; nothing was changed' }],
  });
}
