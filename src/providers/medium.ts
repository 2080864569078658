import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';

/** What was read back from a medium. */
export interface MediumRead {
  /** SHA-256 as hex, or null where it could not be read. */
  readonly digest: string | null;
  /** Whether it was read past the cache of the system; else the system was only asked to forget it first. */
  readonly direct: boolean;
}

/**
 * Reads a file back from its medium and not from the memory in which the system keeps what was just written: with direct
 * input, or where the file system has none, after the system was asked to drop the file. Uses dd(1) of coreutils.
 */
export async function readMedium(path: string): Promise<MediumRead> {
  const direct = await dd(path, ['iflag=direct', 'bs=1M']);
  if (direct !== null) return { digest: direct, direct: true };
  await dd(path, ['iflag=nocache', 'count=0']);
  return { digest: await dd(path, ['bs=1M']), direct: false };
}

async function dd(path: string, options: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('dd', [`if=${path}`, 'status=none', ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
    const hash = createHash('sha256');
    child.stdout.on('data', (bytes: Buffer) => hash.update(bytes));
    child.on('error', () => {
      resolve(null);
    });
    child.on('close', (status) => {
      resolve(status === 0 ? hash.digest('hex') : null);
    });
  });
}
