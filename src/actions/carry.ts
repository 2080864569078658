import { decide } from '../ledger/decide.ts';
import { checkpoint, type CheckpointOptions, type CheckpointResult } from './checkpoint.ts';
import { pack, type PackResult } from './pack.ts';
import type { Ports } from './session/ports.ts';
import { explainObstacle } from './session/refusal.ts';
import { openSession } from './session/session.ts';

/** What came of recording and carrying: nothing where another host holds the agent. */
export type CarryResult =
  | { readonly held: true; readonly checkpoint: CheckpointResult; readonly carried: PackResult }
  | { readonly held: false; readonly why: string };

/**
 * Records the state and adds what is missing to a bundle directory: what cron calls. Where the agent has moved away cron goes
 * on calling, and that is told and no error. Throws what `checkpoint` and `pack` throw.
 */
export async function carry(ports: Ports, options: CheckpointOptions & { readonly to: string }): Promise<CarryResult> {
  const session = await openSession(ports);
  const decision = session.view === null ? null : decide(session.state, session.view, 'checkpoint');
  if (decision?.allowed === false && ['SUPERSEDED', 'FOREIGN', 'OFFERED', 'OFFER_ELSEWHERE'].includes(decision.obstacle))
    return { held: false, why: explainObstacle(session, decision.obstacle).message };
  const done = await checkpoint(ports, options);
  const carried = await pack(ports, { output: options.to, directory: true, includeSecrets: false, write: () => Promise.resolve() });
  return { held: true, checkpoint: done, carried };
}
