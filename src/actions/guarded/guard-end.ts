import { AgentError } from '../../core/errors.ts';
import { openScope } from '../../providers/cgroup.ts';
import { familyOf, type GuardNote } from './guards.ts';
import type { Session } from '../session/session.ts';

/** Milliseconds between asking to end and killing. */
const GRACE = 2000;
const POLL = 50;
/** Rounds of killing until nothing new appears; a fork bomb without end is reported. */
const ROUNDS = 40;

/** Ends everything that a guard runs, then waits for the guard itself; throws WRITER_FOUND where something will not end. */
export async function endGuard({ ports }: Pick<Session, 'ports'>, note: GuardNote): Promise<void> {
  const { processes, clock } = ports;
  const rest = await endFamily({ ports }, note);
  if (rest.length > 0)
    throw new AgentError('WRITER_FOUND', `process ${String(rest[0])}, started under guard ${String(note.pid)}, does not end`, {
      hints: [{ command: `kill -9 ${rest.join(' ')}` }],
    });
  // The guard sees its command gone and the fence there, and ends by itself; what hangs is ended.
  const deadline = clock.now() + GRACE;
  while (processes.isAlive(note) && clock.now() < deadline) await clock.sleep(POLL);
  if (processes.isAlive(note)) processes.signal(note.pid, 'SIGKILL');
  if (note.scope !== null) openScope(note.scope).remove();
}

/** Asks the family of a guard to end, then kills what stays, until nothing of it runs; returns what is left all the same. */
export async function endFamily({ ports }: Pick<Session, 'ports'>, note: GuardNote): Promise<readonly number[]> {
  const { processes, clock } = ports;
  const first = familyOf({ ports }, note);
  if (first.length === 0) return first;
  for (const pid of first) processes.signal(pid, 'SIGTERM');
  const deadline = clock.now() + GRACE;
  while (familyOf({ ports }, note).length > 0 && clock.now() < deadline) await clock.sleep(POLL);
  for (let round = 0; round < ROUNDS; round++) {
    const rest = familyOf({ ports }, note);
    if (rest.length === 0) break;
    if (note.scope !== null) openScope(note.scope).kill();
    for (const pid of rest) processes.signal(pid, 'SIGKILL');
    await clock.sleep(POLL);
  }
  return familyOf({ ports }, note);
}
