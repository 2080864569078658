import { join } from 'node:path';
import type { Digest } from '../../core/digest.ts';
import { withLock } from '../../host/lock.ts';
import { samePlace } from '../../host/place.ts';
import type { Action } from '../../ledger/conditions.ts';
import { settlePending } from './append-record.ts';
import { assertMay } from './may.ts';
import type { Ports } from './ports.ts';
import { openSession, type HostSession, type Session } from './session.ts';
import { settleEnvelopes } from '../sealed/store-keys.ts';

/**
 * Runs `work` as the one writer of this agent on this host. The right to do `action` is looked at before the lock, so
 * that a refused command leaves no trace, and again under it.
 */
export async function withWriter<T>(ports: Ports, action: Action, work: (session: HostSession) => Promise<T>): Promise<T> {
  const { chain } = assertMay(await openSettled(ports), action);
  return underLock(ports, chain.state.agent, async () => {
    const session = await settlePending(await openSession(ports));
    await settleEnvelopes(session);
    await sweepStore(session);
    return work(assertMay(session, action));
  });
}

/** Opens the agent; a record that a crash left pending in this root is first brought to its end, with its very bytes. */
export async function openSettled(ports: Ports): Promise<Session> {
  const opened = await openSession(ports);
  const pending = opened.memory?.pending;
  if (pending === undefined || !samePlace(pending.place, opened.place)) return opened;
  return underLock(ports, opened.chain.state.agent, async () => settlePending(await openSession(ports)));
}

/** Runs `work` under the lock that an agent has on this host. */
export async function underLock<T>(ports: Ports, agent: Digest, work: () => Promise<T>): Promise<T> {
  const { files, hostDirectory: directory, processes } = ports;
  return withLock(files, { directory, agent, self: processes.self, isAlive: (one) => processes.isAlive(one) }, work);
}

/** Removes temporaries that a crash left; whoever has the lock is the only writer of these directories. */
async function sweepStore({ ports, control }: Session): Promise<void> {
  const { files, clock } = ports;
  const packs = (await files.list(join(control, 'packs'))).map((name) => join('packs', name));
  for (const directory of ['', 'manifests', 'packlists', 'keys', ...packs, 'local', join('local', 'txn'), join('local', 'index')])
    await files.sweep(join(control, directory), clock.now());
}
