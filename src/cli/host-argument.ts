import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { FenceTarget } from '../actions/session/trust.ts';
import { parseInvite } from '../ledger/message.ts';
import { readDocument, type Terminal } from './terminal.ts';

/** Reads a host that a person names: an invite in a file or on standard input, else a name that this host knows. */
export async function readHost(terminal: Terminal, to: string): Promise<FenceTarget> {
  const isFile =
    to === '-' ||
    (await stat(resolve(terminal.cwd, to)).then(
      (found) => !found.isDirectory(),
      () => false,
    ));
  return isFile ? { invite: parseInvite(await readDocument(terminal, to === '-' ? to : resolve(terminal.cwd, to))) } : { known: to };
}
