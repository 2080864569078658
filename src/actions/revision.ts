import { AgentError } from '../core/errors.ts';
import type { Digest } from '../core/digest.ts';
import type { Session } from './session.ts';

/** A recorded state: the seq of its checkpoint and its manifest. */
export interface StateName {
  readonly seq: number;
  readonly manifest: Digest;
}

/**
 * Finds a state by name: `HEAD` (the default), `HEAD~2`, the seq of a record (the newest checkpoint up to it), or the
 * first digits of a manifest's digest. Throws CHECKPOINT_MISSING or REVISION_UNKNOWN.
 */
export function findState({ chain, name }: Pick<Session, 'chain' | 'name'>, revision = 'HEAD'): StateName {
  const states = chain.records.flatMap(({ record }): StateName[] =>
    record.kind === 'checkpoint' ? [{ seq: record.seq, manifest: record.manifest }] : [],
  );
  if (states.length === 0)
    throw new AgentError('CHECKPOINT_MISSING', `'${name}' has no checkpoint yet`, {
      hints: [{ command: 'agent checkpoint', effect: 'records the first state' }],
    });
  const last = chain.records.length - 1;
  const found = /^[0-9]+$/.test(revision) && Number(revision) > last ? undefined : select(states, revision);
  if (found !== undefined) return found;
  throw new AgentError('REVISION_UNKNOWN', `'${revision}' names no state of '${name}'`, {
    hints: [{ command: 'agent log', effect: 'lists them' }],
  });
}

function select(states: readonly StateName[], revision: string): StateName | undefined {
  const back = /^HEAD(?:~([0-9]{1,6}))?$/.exec(revision);
  if (back !== null) return states[states.length - 1 - Number(back[1] ?? 0)];
  if (/^[0-9]{1,9}$/.test(revision)) return states.filter((one) => one.seq <= Number(revision)).at(-1);
  if (!/^[0-9a-f]{6,64}$/.test(revision)) return undefined;
  const matches = states.filter((one) => one.manifest.startsWith(revision));
  return matches.length === 1 ? matches[0] : undefined;
}
