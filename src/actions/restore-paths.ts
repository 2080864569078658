import { resolve } from 'node:path';
import { writersOf } from '../capture/quiet.ts';
import { AgentError } from '../core/errors.ts';
import { ROOT_PATH, parseRelPath, showName, type RelPath } from '../core/name.ts';
import type { StagedTree } from '../install/stage.ts';
import type { TreeSide } from '../manifest/compare.ts';
import { databaseOf } from '../manifest/sidecars.ts';
import { findEntry } from '../manifest/tree.ts';
import { mainRoot, sideOf, type OpenState } from './state/open-state.ts';
import { liveGuards } from './guarded/guards.ts';
import { readProfile } from './session/root-profile.ts';
import type { HostSession, Session } from './session/session.ts';
import { word } from '../core/shell.ts';

/** Paths that are in the state, or in the newest one; throws PATH_UNKNOWN. */
export async function known(
  state: OpenState,
  { paths, seq, head }: { readonly paths: readonly RelPath[]; readonly seq: number; readonly head?: OpenState },
): Promise<readonly RelPath[]> {
  for (const path of paths) {
    if (path === ROOT_PATH) continue;
    const there = await Promise.all(
      [state, ...(head === undefined ? [] : [head])].map((one) => findEntry(sideOf(one).pages, path, sideOf(one).get)),
    );
    if (there.every((entry) => entry === null))
      throw new AgentError('PATH_UNKNOWN', `'${showName(path)}' is not in record ${String(seq)}`, {
        hints: [{ command: `agent show ${String(seq)}:`, effect: 'lists what is; nothing was changed' }],
      });
  }
  return paths.length === 0 ? [ROOT_PATH] : paths;
}

/** A path that a person gave, from the directory where the command runs, as one below the root. */
export function relative({ root, ports }: Pick<Session, 'root' | 'ports'>, path: string): RelPath {
  if (path === '')
    throw new AgentError('USAGE_WRONG', 'a path is empty, which would mean the whole agent', {
      hints: [{ command: 'agent restore REV .', effect: 'if the whole is meant, from its root' }],
    });
  const absolute = resolve(ports.cwd, path);
  if (absolute === root) return ROOT_PATH;
  if (absolute.startsWith(`${root}/`)) return parseRelPath(absolute.slice(root.length + 1));
  throw new AgentError('PATH_UNKNOWN', `'${path}' does not lie in '${root}'`, {
    hints: [{ command: `cd ${word(root)}`, effect: 'paths are taken from the current directory, or from that of -C' }],
  });
}

/** Whether a path is one of some paths, lies below one of them, or is a file that SQLite keeps beside one of them. */
export function isWithin(path: RelPath, paths: readonly RelPath[]): boolean {
  const database = databaseOf(path)?.path;
  return paths.some((one) => one === ROOT_PATH || path === one || database === one || path.startsWith(`${one}/`));
}

/** A part of a state's tree, ready to be staged. */
export function treeOf(state: OpenState, side: TreeSide): StagedTree {
  const { sheet } = state;
  return {
    root: { ...mainRoot(state.facts), pages: side.pages },
    get: side.get,
    secrets: sheet === null ? null : { sheet, get: (digest) => state.objects.secret.chunk(digest) },
  };
}

/** Refuses while something runs or writes: what it has in memory would go over what is put back. */
export async function refuseActivity(session: HostSession, verb: 'restore' | 'rehome' | 'release'): Promise<void> {
  const [guard] = liveGuards(session);
  if (guard !== undefined)
    throw new AgentError('GUARD_RUNNING', `guard ${String(guard.pid)} runs '${guard.command}' in '${session.name}'`, {
      hints: [{ command: 'agent fence', effect: `ends it; a ${verb} may go on while the agent is fenced, then agent resume` }],
    });
  const { writers } = writersOf({ root: session.root, profile: await readProfile(session), processes: session.ports.processes });
  const [writer] = writers;
  if (writer !== undefined)
    throw new AgentError('WRITER_FOUND', `process ${String(writer.pid)} (${writer.program}) has '${writer.path}' open for writing`, {
      hints: [{ command: `kill ${String(writer.pid)}`, effect: `then ${verb} again; nothing was changed` }],
    });
}
