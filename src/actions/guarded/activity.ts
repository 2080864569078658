import { writersOf } from '../../capture/quiet.ts';
import { AgentError } from '../../core/errors.ts';
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
  const { writers } = writersOf({ root: session.root, profile: await readProfile(session), processes: session.ports.processes });
  const [writer] = writers;
  if (writer !== undefined)
    throw new AgentError('WRITER_FOUND', `process ${String(writer.pid)} (${writer.program}) has '${writer.path}' open for writing`, {
      hints: [{ command: `kill ${String(writer.pid)}`, effect: `then ${verb} again; nothing was changed` }],
    });
}
