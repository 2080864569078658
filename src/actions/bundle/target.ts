import { realpath, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import { decide } from '../../ledger/decide.ts';
import { liveGuards } from '../guarded/guards.ts';
import type { OpenState } from '../state/open-state.ts';
import type { Ports } from '../session/ports.ts';
import { agentAt, openRoot, type Session } from '../session/session.ts';
import { isOnPath } from '../../providers/commands.ts';
import { word } from '../../core/shell.ts';
import { CONTROL, isRoot } from '../session/control.ts';

/** What lies where a bundle is to go. */
export interface TargetPlace {
  /** Absolute, with its parent real. */
  readonly path: string;
  /** The older tree of the same agent that is there, or null. */
  readonly old: Session | null;
}

/**
 * Looks at the directory that is to become the agent; throws where it may not. `overAny` lets it take the place of what is
 * no agent, too, which is kept aside. Changes nothing.
 */
export async function lookAtTarget(
  ports: Ports,
  directory: string,
  { agent, overAny = false }: { readonly agent: Digest; readonly overAny?: boolean },
): Promise<TargetPlace> {
  const { files } = ports;
  const wanted = resolve(ports.cwd, directory);
  const parent = await realpath(dirname(wanted)).catch(() => null);
  const exists = await files.exists(wanted);
  const path = exists ? await realpath(wanted) : join(parent ?? dirname(wanted), basename(wanted));
  await refuseWithin(ports, dirname(path));
  if (!exists) return { path, old: null };
  const occupied = (what: string): AgentError =>
    new AgentError('TARGET_OCCUPIED', `'${directory}' ${what}`, {
      hints: [
        { command: `agent rehydrate BUNDLE ${word(`${wanted}.new`)}`, effect: 'a directory that does not exist yet; nothing was changed' },
      ],
    });
  const found = await stat(path);
  if (!found.isDirectory()) throw occupied('is not a directory');
  if (found.dev !== (await stat(dirname(path))).dev)
    throw new AgentError('TARGET_MOUNTED', `'${directory}' is a mount point, and cannot be swapped as a whole`, {
      hints: [{ command: `agent rehydrate BUNDLE ${word(join(wanted, 'agent'))}`, effect: 'a directory on it; nothing was changed' }],
    });
  if ((await files.list(path)).length === 0) return { path, old: null };
  const there = (await files.exists(join(path, CONTROL))) ? await agentAt(ports, path) : null;
  if (there === null && overAny) return { path, old: null };
  if (there === null) throw occupied('is not empty and is no agent');
  if (there !== agent) throw occupied('is another agent');
  const old = await openRoot(ports, path);
  const [guard] = liveGuards(old);
  if (guard !== undefined)
    throw new AgentError('GUARD_RUNNING', `guard ${String(guard.pid)} runs in '${directory}'`, {
      hints: [{ command: `agent -C ${word(path)} fence`, effect: 'ends it' }],
    });
  if (old.view !== null && decide(old.state, old.view, 'act').allowed)
    throw new AgentError('TARGET_ACTING', `'${directory}' is the agent itself and may act; it is not replaced by a bundle`, {
      hints: [{ command: `agent rehydrate BUNDLE ${word(`${wanted}.copy`)}`, effect: 'puts a copy beside it, which may not act' }],
    });
  return { path, old };
}

/** An agent is not put into another one. */
async function refuseWithin({ files }: Ports, directory: string): Promise<void> {
  for (let at = directory; ; at = dirname(at)) {
    if (await isRoot(files, at))
      throw new AgentError('TARGET_OCCUPIED', `'${directory}' lies within the agent '${at}'`, {
        hints: [{ command: 'agent rehydrate BUNDLE DIR', effect: 'with a directory outside of any agent' }],
      });
    if (at === dirname(at)) return;
  }
}

/** Throws SPACE_SHORT where the file system of a path has less room than the agent needs. */
export async function refuseShort(path: string, bytes: bigint): Promise<void> {
  let parent = dirname(path);
  for (;;) {
    const free = await statfs(parent, { bigint: true }).catch(() => null);
    if (free === null && parent !== dirname(parent)) parent = dirname(parent);
    else if (free !== null && free.bavail * free.bsize < bytes)
      throw new AgentError(
        'SPACE_SHORT',
        `'${parent}' has ${String(free.bavail * free.bsize)} bytes free, and the agent needs ${String(bytes)}`,
        { hints: [{ command: `df -h ${word(parent)}`, effect: 'nothing was changed' }] },
      );
    else return;
  }
}

/** Throws REQUIREMENT_MISSING where a program that the agent requires is not on PATH. */
export function refuseRequirements({ environment }: Ports, { facts }: OpenState): void {
  for (const { tool } of facts.requirements)
    if (!isOnPath(tool, environment['PATH']))
      throw new AgentError('REQUIREMENT_MISSING', `the agent requires '${tool}', which is not on PATH here`, {
        hints: [{ command: `command -v ${tool}`, effect: 'after it was installed; nothing was changed' }],
      });
}
