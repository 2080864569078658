import type { Digest } from '../core/digest.ts';
import { withLock } from '../host/lock.ts';
import type { Action } from '../ledger/conditions.ts';
import { settlePending } from './append-record.ts';
import type { Ports } from './ports.ts';
import { settleEnvelopes } from './store-keys.ts';
import { assertMay } from './may.ts';
import { findRoot, openRoot, type HostSession } from './session.ts';

/**
 * Runs `work` as the one writer of this agent on this host. The right to do `action` is looked at before the lock, so
 * that a refused command leaves no trace, and again under it, after a record that a crash left pending was settled.
 */
export async function withWriter<T>(ports: Ports, action: Action, work: (session: HostSession) => Promise<T>): Promise<T> {
  const root = await findRoot(ports);
  const { chain } = assertMay(await openRoot(ports, root), action);
  return underLock(ports, chain.state.agent, async () => {
    const session = await settlePending(await openRoot(ports, root));
    await settleEnvelopes(session);
    return work(assertMay(session, action));
  });
}

/** Runs `work` under the lock that an agent has on this host. */
export async function underLock<T>(ports: Ports, agent: Digest, work: () => Promise<T>): Promise<T> {
  const { files, hostDirectory: directory, processes } = ports;
  return withLock(files, { directory, agent, self: processes.self, isAlive: (one) => processes.isAlive(one) }, work);
}
