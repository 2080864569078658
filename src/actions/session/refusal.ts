import { AgentError, type Hint } from '../../core/errors.ts';
import type { PublicKey } from '../../core/ssh/key.ts';
import { decide, type Decision, type Obstacle } from '../../ledger/decide.ts';
import type { Session } from './session.ts';

type Refused = Extract<Decision, { allowed: false }>;

/** The error that says why this host may not do something with this root, and what to type next. */
export function refusal(session: Session, decision: Refused): AgentError {
  const { message, hints } = explainObstacle(session, decision.obstacle);
  return new AgentError(decision.obstacle, message, { hints });
}

/** What stands between this host and acting, in words. */
export function explainObstacle(session: Session, obstacle: Obstacle): { readonly message: string; readonly hints: readonly Hint[] } {
  const { state, name, chain, memory } = session;
  const who = `'${name}'`;
  const registered = memory?.roots[0]?.place.path ?? 'another directory';
  const here: Hint = {
    command: 'agent resume --here --yes --reason TEXT',
    effect: 'makes this directory on this host the agent; whatever else acted as it must stay off, and you say so',
  };
  switch (obstacle) {
    case 'OFFERED':
      if (state.offer?.target === session.host?.key.publicKey)
        return {
          message: `${who} is offered to this host and waits for your word, seq ${String(state.offer?.seq ?? 0)}`,
          hints: [
            { command: 'agent promote', effect: 'this host takes over, and the source may never act again with what it has' },
            { command: 'agent decline', effect: 'the source goes on' },
          ],
        };
      return {
        message: `${who} waits for ${hostLabel(session, state.offer?.target)}, seq ${String(state.offer?.seq ?? 0)}`,
        hints: [
          { command: 'agent close REPLY', effect: 'REPLY is what `agent promote` or `agent decline` printed there' },
          { command: 'agent revoke --kit FILE', effect: 'where the target is lost for ever: you say so with the recovery kit' },
        ],
      };
    case 'OFFER_ELSEWHERE':
      return {
        message: `${who} is offered to ${hostLabel(session, state.offer?.target)}, not to this host`,
        hints: [
          { command: 'agent invite', effect: 'prints an invite of this host, for `agent fence --to` on the host that holds the agent' },
        ],
      };
    case 'SUPERSEDED':
    case 'FOREIGN':
      return {
        message: `${who} ${obstacle === 'SUPERSEDED' ? 'has moved: it lives at' : 'is a replica here: the agent lives at'} ${hostLabel(session, state.holder)} (epoch ${String(state.epoch)})`,
        hints: [{ command: 'agent invite', effect: 'the first step to bring it here: give what it prints to `agent fence --to` there' }],
      };
    case 'OFFER_MISSING':
      return {
        message: `no offer of ${who} is open, and this host holds it already`,
        hints: [{ command: 'agent status', effect: 'shows what can be done' }],
      };
    case 'COPY':
      return { message: `this directory is a copy of ${who}; this host runs it at '${registered}'`, hints: [here] };
    case 'CLONED':
      return { message: `the keys of this host come from another machine or account; ${who} may act there`, hints: [here] };
    case 'RESTORED':
      return { message: `the host directory was copied or restored; what ${who} did since may be unknown here`, hints: [here] };
    case 'FENCED':
      return {
        message: `${who} is fenced since record ${String(chain.records.findLast(({ record }) => record.kind === 'fence')?.record.seq ?? state.seq)}`,
        hints: [{ command: 'agent resume', effect: 'it may act again here' }],
      };
    case 'STALE': {
      const seen = memory?.pending === undefined ? memory?.seen?.seq : session.pending?.record.seq;
      const hints: Hint[] = [
        { command: 'agent rehydrate BACKUP .', effect: 'puts a newer copy in place; BACKUP holds at least what this host has seen' },
      ];
      if (session.view !== null && decide(state, session.view, 'accept-loss').allowed)
        hints.push({
          command: 'agent resume --accept-loss --yes --reason TEXT',
          effect: 'goes on from this older state; checkpoints of this host after it are given up',
        });
      return {
        message: `this tree of ${who} ends at record ${String(chain.state.seq)}, but this host has seen record ${String(seen ?? 0)}`,
        hints,
      };
    }
    case 'FORKED':
      return {
        message: `this ledger of ${who} and what this host has seen went different ways; two hosts may have acted`,
        hints: [
          { command: 'agent log', effect: 'shows this branch; keep both as proof' },
          {
            command: 'agent recover BRANCH DIR --kit FILE',
            effect: 'goes on from the branch that you name; the other one never acts again',
          },
        ],
      };
    case 'LOSS_REFUSED':
      return {
        message: `what is newer than this tree of ${who} may live on another host, so that it cannot be given up here`,
        hints: [{ command: 'agent rehydrate BACKUP .', effect: 'with a copy that holds what this host has seen' }],
      };
  }
}

/** How to call a host: by the label that this host knows, else by the end of its key. */
export function hostLabel({ host }: Pick<Session, 'host'>, key: PublicKey | undefined): string {
  if (key === undefined) return 'nobody';
  if (host?.key.publicKey === key) return 'this host';
  return host?.known.find((one) => one.key === key)?.label ?? `host …${key.slice(-8)}`;
}
