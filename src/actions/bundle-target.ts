import { realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AgentError } from '../core/errors.ts';
import { parseChain, type Chain } from '../ledger/chain.ts';
import { compareSeen, seenOf } from '../ledger/seen.ts';
import { FORMAT_FILE, LEDGER_FILE, SCRIPT_FILE } from '../store/layout.ts';
import { checkFormat, directoryReader } from '../store/reader.ts';
import type { Session } from './session.ts';

/** Where a bundle goes: what is there decides whether it is a file or a directory, else the ending `.tar`. */
export async function targetOf(session: Session, output: string): Promise<{ readonly path: string; readonly isDirectory: boolean }> {
  const { files, cwd } = session.ports;
  const path = resolve(cwd, output);
  await refuseInside(session, path);
  return { path, isDirectory: (await files.exists(path)) ? await files.exists(`${path}/.`) : !path.endsWith('.tar') };
}

/** Milliseconds after which a temporary in a bundle directory is not that of a pack that goes on beside this one. */
const ABANDONED = 3_600_000;

/** A directory must be empty, or a bundle of this agent that is not newer. */
export async function refuseForeign({ ports, chain, name }: Session, target: string): Promise<void> {
  const { files } = ports;
  const reader = directoryReader(files, target);
  await files.sweep(target, ports.clock.now() - ABANDONED);
  const names = (await files.list(target)).filter((one) => !one.endsWith('.tmp'));
  if (names.length === 0) return;
  const bytes = await reader.read(LEDGER_FILE);
  if (bytes === null) {
    // A first pack that was cut has packs and no ledger yet.
    if (names.every((one) => [FORMAT_FILE, SCRIPT_FILE, 'packs', 'keys', 'packlists', 'manifests'].includes(one))) return;
    throw new AgentError('TARGET_OCCUPIED', `'${target}' holds something else`, {
      hints: [{ command: 'agent pack -o NEW-DIR', effect: 'nothing was changed' }],
    });
  }
  await checkFormat(reader);
  const other: Chain = parseChain(bytes);
  if (other.state.agent !== chain.state.agent)
    throw new AgentError('BUNDLE_FOREIGN', `'${target}' is a bundle of another agent, not of '${name}'`, {
      hints: [{ command: 'agent pack -o NEW-DIR', effect: 'nothing was changed' }],
    });
  const relation = compareSeen(chain, seenOf(other.state));
  if (relation === 'contained') return;
  throw new AgentError(
    relation === 'behind' ? 'STALE' : 'FORKED',
    `'${target}' is ${relation === 'behind' ? 'newer than' : 'another branch of'} '${name}' here`,
    { hints: [{ command: `agent verify '${target}'`, effect: 'shows what it holds; nothing was changed' }] },
  );
}

/** Throws OUTPUT_INSIDE_ROOT where something would be written into the agent itself. */
export async function refuseInside({ root }: Session, target: string): Promise<void> {
  let parent = target;
  for (;;) {
    const real = await realpath(parent).catch(() => null);
    if (real !== null) {
      if (!`${real}/`.startsWith(`${root}/`)) return;
      throw new AgentError('OUTPUT_INSIDE_ROOT', `'${target}' lies in the agent itself, which would then hold a copy of itself`, {
        hints: [{ command: `cd '${dirname(root)}'`, effect: 'and name a place outside of the agent; nothing was changed' }],
      });
    }
    parent = dirname(parent);
  }
}
