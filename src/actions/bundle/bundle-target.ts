import { realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { AgentError, isAgentError } from '../../core/errors.ts';
import { parseChain, type Chain } from '../../ledger/chain.ts';
import { compareSeen, seenOf } from '../../ledger/seen.ts';
import { FORMAT_FILE, LEDGER_FILE, SCRIPT_FILE } from '../../store/layout.ts';
import { checkFormat, directoryReader } from '../../store/reader.ts';
import { withBundle } from './bundle.ts';
import type { Session } from '../session/session.ts';
import { word } from '../../core/shell.ts';

/**
 * Where a bundle goes: what is there decides whether it is a file or a directory, else the ending `.tar`, or that a `directory` is
 * wanted. Throws TARGET_OCCUPIED for a file that is something else.
 */
export async function targetOf(
  session: Session,
  output: string,
  { directory }: { readonly directory: boolean },
): Promise<{ readonly path: string; readonly isDirectory: boolean }> {
  const { cwd } = session.ports;
  const path = resolve(cwd, output);
  await refuseInside(session, path);
  const found = await stat(path).catch(() => null);
  const isDirectory = found === null ? directory || !path.endsWith('.tar') : found.isDirectory();
  if (found !== null && !isDirectory) await refuseOther(session, path, { isRegular: found.isFile(), directory });
  return { path, isDirectory };
}

/** A file is replaced only where it is a bundle of this agent that is not newer: whatever else it is, it is somebody's. */
async function refuseOther(
  session: Session,
  path: string,
  { isRegular, directory }: { readonly isRegular: boolean; readonly directory: boolean },
): Promise<void> {
  const occupied = (what: string): AgentError =>
    new AgentError('TARGET_OCCUPIED', `'${path}' ${what}`, {
      hints: [{ command: `agent pack -o ${word(`${path}.new.tar`)}`, effect: 'another name; nothing was changed' }],
    });
  if (directory || !isRegular) throw occupied(isRegular ? 'is a file, and a bundle directory is wanted' : 'is no regular file');
  await withBundle(session.ports, { path, input: noInput() }, (bundle) => {
    refuseNewer(session, path, bundle.chain);
    return Promise.resolve();
  }).catch((error: unknown) => {
    if (isAgentError(error) && ['BUNDLE_FOREIGN', 'STALE', 'FORKED'].includes(error.code)) throw error;
    throw occupied('is no bundle that is whole, and is not replaced');
  });
}

/** The standard input of what names its bundle by a path. */
export async function* noInput(): AsyncGenerator<Uint8Array> {
  // A bundle by its path reads no standard input.
}

/** Milliseconds after which a temporary in a bundle directory is not that of a pack that goes on beside this one. */
export const ABANDONED = 3_600_000;

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
  refuseNewer({ chain, name }, target, parseChain(bytes));
}

/** Throws where a bundle is of another agent (BUNDLE_FOREIGN), newer (STALE) or another branch (FORKED). */
function refuseNewer(
  { chain, name }: Pick<Session, 'chain' | 'name'>,
  target: string,
  other: Pick<Chain, 'records' | 'state' | 'digests'>,
): void {
  if (other.state.agent !== chain.state.agent)
    throw new AgentError('BUNDLE_FOREIGN', `'${target}' is a bundle of another agent, not of '${name}'`, {
      hints: [{ command: 'agent pack -o NEW-DIR', effect: 'nothing was changed' }],
    });
  const relation = compareSeen(chain, seenOf(other.state));
  if (relation === 'contained') return;
  throw new AgentError(
    relation === 'behind' ? 'STALE' : 'FORKED',
    `'${target}' is ${relation === 'behind' ? 'newer than' : 'another branch of'} '${name}' here`,
    { hints: [{ command: `agent verify ${word(target)}`, effect: 'shows what it holds; nothing was changed' }] },
  );
}

/** Throws OUTPUT_INSIDE_ROOT where something would be written into the agent itself. */
export async function refuseInside({ root, ports }: Session, target: string): Promise<void> {
  let parent = target;
  for (;;) {
    const real = await realpath(parent).catch(() => null);
    if (real !== null) {
      if (`${real}/`.startsWith(`${ports.hostDirectory}/`))
        throw new AgentError('OUTPUT_INSIDE_ROOT', `'${target}' lies in the host directory, which holds the keys of this host alone`, {
          hints: [{ command: 'agent pack -o OTHER-FILE', effect: 'nothing was changed' }],
        });
      if (!`${real}/`.startsWith(`${root}/`)) return;
      throw new AgentError('OUTPUT_INSIDE_ROOT', `'${target}' lies in the agent itself, which would then hold a copy of itself`, {
        hints: [{ command: `cd ${word(dirname(root))}`, effect: 'and name a place outside of the agent; nothing was changed' }],
      });
    }
    parent = dirname(parent);
  }
}
