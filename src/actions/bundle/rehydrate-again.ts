import { resolve } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import type { Host } from '../../host/home.ts';
import { compareHome } from '../../host/place.ts';
import { decide } from '../../ledger/decide.ts';
import { compareSeen } from '../../ledger/seen.ts';
import type { AgentMemory } from '../../host/memory.ts';
import type { Chain } from '../../ledger/chain.ts';
import { parseLine } from '../../ledger/record.ts';
import { standingOf } from '../../ledger/standing.ts';
import type { Bundle } from './bundle.ts';
import type { Ports } from '../session/ports.ts';
import { agentAt, openRoot } from '../session/session.ts';

/**
 * The bundle again after this host answered its offer, and did nothing else: the same line that was cut behind promote goes
 * on to it. Null where the target is not that agent, or the agent has gone on.
 */
export async function answeredAlready(
  ports: Ports,
  { chain }: Bundle,
  directory: string,
): Promise<{ readonly name: string; readonly answered: 'promote' | 'decline'; readonly seq: number } | null> {
  const path = resolve(ports.cwd, directory);
  if ((await agentAt(ports, path)) !== chain.state.agent) return null;
  const session = await openRoot(ports, path);
  const answer = session.chain.records[chain.records.length]?.record;
  const goneOn = session.chain.records.length !== chain.records.length + 1 || session.chain.digests[chain.state.seq] !== chain.state.head;
  if (goneOn || answer?.by !== session.host?.key.publicKey || (answer?.kind !== 'promote' && answer?.kind !== 'decline')) return null;
  return { name: session.name, answered: answer.kind, seq: answer.seq };
}

/**
 * Whether only this host's own checkpoints can be newer than the chain: then it may be put in place where nothing is, and a
 * person may say `resume --accept-loss`. It may not act before.
 */
export function losesOwnOnly(chain: Chain, memory: AgentMemory | null, host: Host | null): boolean {
  if (host === null || memory?.seen === undefined) return false;
  const view = {
    key: host.key.publicKey,
    self: compareHome(memory.home, host.actual),
    root: 'registered',
    seen: compareSeen(chain, memory.seen),
    seenEpoch: memory.seen.epoch,
    seenOffered: memory.seen.offered,
  } as const;
  return decide(chain.state, view, 'accept-loss').allowed;
}

/** A chain that ends before what this host has seen is known as old, and one that went another way as a fork. */
export function refuseOlder(
  chain: Chain,
  memory: AgentMemory | null,
  { name, mayLose }: { readonly name: string; readonly mayLose: boolean },
): void {
  const pending = memory?.pending === undefined ? null : parseLine(memory.pending.line);
  const { seen, relation } = standingOf(chain, { seen: memory?.seen ?? null, pending });
  if (relation === 'behind' && !mayLose)
    throw new AgentError(
      'STALE',
      `'${name}' ends at record ${String(chain.state.seq)}, but this host has seen record ${String(seen?.seq ?? 0)} of this agent`,
      { hints: [{ command: 'agent verify BUNDLE', effect: 'shows what it holds; fetch a newer one' }] },
    );
  if (relation === 'diverged')
    throw new AgentError('FORKED', `'${name}' is another branch of this agent than the one that this host has seen`, {
      hints: [{ command: 'agent verify BUNDLE', effect: 'shows it; keep both as proof' }],
    });
}
