import { CONDITIONS, type Action, type Condition, type HostView } from './conditions.ts';
import type { LedgerState } from './state.ts';

/** What stands between a host and the right to do something, as `status` names it. */
export type Obstacle =
  | 'STALE'
  | 'FORKED'
  | 'OFFERED'
  | 'OFFER_ELSEWHERE'
  | 'SUPERSEDED'
  | 'FOREIGN'
  | 'CLONED'
  | 'RESTORED'
  | 'COPY'
  | 'FENCED'
  | 'LOSS_REFUSED'
  | 'OFFER_MISSING';

/** The answer of `decide`. */
export type Decision =
  { readonly allowed: true } | { readonly allowed: false; readonly obstacle: Obstacle; readonly condition: Condition['name'] };

/**
 * Decides whether this host, with this root, may do something now. The one place where that is decided: commands and the
 * exhaustive search call it alike. Pure. @see design §3
 */
export function decide(state: LedgerState, host: HostView, action: Action, conditions: readonly Condition[] = CONDITIONS): Decision {
  const broken = conditions.find((one) => one.proof !== 'signer' && one.actions.includes(action) && !one.holds(state, host));
  if (broken === undefined) return { allowed: true };
  return { allowed: false, obstacle: obstacleOf(broken.name, state, host), condition: broken.name };
}

function obstacleOf(name: Condition['name'], state: LedgerState, host: HostView): Obstacle {
  switch (name) {
    case 'seen':
      return host.seen === 'diverged' ? 'FORKED' : 'STALE';
    case 'lossOffer':
    case 'lossEpoch':
      return 'LOSS_REFUSED';
    case 'holder':
    case 'target':
      if (state.offer !== null) return state.offer.target === host.key ? 'OFFERED' : 'OFFER_ELSEWHERE';
      if (state.holder === host.key) return 'OFFER_MISSING';
      return state.former.includes(host.key) ? 'SUPERSEDED' : 'FOREIGN';
    case 'unoffered':
      return 'OFFERED';
    case 'unfenced':
      return 'FENCED';
    case 'self':
      return host.self === 'cloned' ? 'CLONED' : 'RESTORED';
    case 'root':
      return 'COPY';
    case 'custody':
      return 'FOREIGN';
  }
}
