import { closeSync, fsyncSync, openSync, readdirSync, lstatSync } from 'node:fs';
import { runCommand } from '../providers/commands.ts';

const LIMIT = 30 * 60_000;

/** Makes a whole new tree durable at once with `sync -f`; where that is not to be had, file by file. Throws where a sync fails. */
export async function syncTree(path: string): Promise<void> {
  const { status } = await runCommand(['sync', '-f', path], { cwd: '/', limit: LIMIT });
  if (status !== 0) syncEach(Buffer.from(path));
}

function syncEach(path: Buffer): void {
  const stat = lstatSync(path);
  if (!stat.isDirectory() && !stat.isFile()) return;
  if (stat.isDirectory())
    for (const name of readdirSync(path, { encoding: 'buffer' })) syncEach(Buffer.concat([path, Buffer.from('/'), name]));
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
