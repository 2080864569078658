import { writersOf } from '../../capture/quiet.ts';
import { AgentError } from '../../core/errors.ts';
import type { Profile } from '../../profile/profile.ts';
import { readProfile } from '../session/root-profile.ts';
import type { HostSession } from '../session/session.ts';
import { liveGuards } from './guards.ts';

/** Refuses while something runs or writes: what it has in memory would go over what is put back. */
export async function refuseActivity(session: HostSession, verb: 'restore' | 'rehome' | 'release'): Promise<void> {
  const [guard] = liveGuards(session);
  if (guard !== undefined)
    throw new AgentError('GUARD_RUNNING', `guard ${String(guard.pid)} runs '${guard.command}' in '${session.name}'`, {
      hints: [{ command: 'agent fence', effect: `ends it; a ${verb} may go on while the agent is fenced, then agent resume` }],
    });
  refuseWriters(session, verb, { root: session.root, profile: await readProfile(session) });
}

/** Refuses while a process writes below a directory, or to that file of it alone. */
export function refuseWriters(
  { ports }: Pick<HostSession, 'ports'>,
  verb: 'restore' | 'rehome' | 'release',
  { root, profile, only }: { readonly root: string; readonly profile: Profile; readonly only?: string },
): void {
  const { writers } = writersOf({ root, profile, processes: ports.processes });
  const writer = writers.find(({ path }) => only === undefined || path === only);
  if (writer !== undefined)
    throw new AgentError('WRITER_FOUND', `process ${String(writer.pid)} (${writer.program}) has '${writer.path}' open for writing`, {
      hints: [{ command: `kill ${String(writer.pid)}`, effect: `then ${verb} again; nothing was changed` }],
    });
}
