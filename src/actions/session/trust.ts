import { AgentError, type Hint } from '../../core/errors.ts';
import { hostWords, type Invite } from '../../ledger/message.ts';
import { isHybrid } from '../../ledger/policy.ts';
import type { HostSession } from './session.ts';

/** For whom a fence offers the agent. */
export type FenceTarget = { readonly invite: Invite } | { readonly known: string };

/** A host that was found trustworthy. */
export interface Target {
  readonly key: Invite['by'];
  readonly recipient: string;
  readonly label: string;
  readonly has: Invite['has'];
}

/** How a stranger is trusted: by six words, or because the channel is trusted. */
export interface Trust {
  readonly to?: FenceTarget | undefined;
  readonly expect?: string | undefined;
  readonly acceptNew?: boolean;
}

/** The key of a host that a person names; throws HOST_UNKNOWN. Says nothing of whether it may be trusted. */
export function keyOf(session: Pick<HostSession, 'host'>, target: FenceTarget): Invite['by'] {
  return 'invite' in target ? target.invite.by : knownHost(session, target.known).key;
}

/** Checks that the target may be trusted: a known host, its six words, or a channel that the user vouches for. */
export function trusted(session: HostSession, { to, expect, acceptNew }: Trust): Target {
  const { known } = session.host;
  if (to === undefined) throw new AgentError('INTERNAL', 'no target');
  if ('known' in to) return { ...knownHost(session, to.known), has: [] };
  const { by, recipient, label, has } = to.invite;
  const target = { key: by, recipient, label, has };
  if (by === session.host.key.publicKey)
    throw new AgentError('USAGE_WRONG', 'the invite is of this host itself', {
      hints: [{ command: 'agent invite', effect: 'is for the host that the agent moves to' }],
    });
  if (known.some((one) => one.key === by && one.recipient === recipient)) return target;
  const words = hostWords({ key: by, recipient });
  if (expect !== undefined && normalWords(expect) !== words)
    throw new AgentError(
      'WORDS_DIFFER',
      `the invite's words are ${words}, not those that you expect: it was replaced on its way, or is another host's`,
    );
  if (expect !== undefined || acceptNew === true) return target;
  const next: Hint[] = [
    { command: `agent fence --to INVITE --expect ${words}`, effect: 'after the target showed you the same six words' },
    { command: 'agent fence --to INVITE --accept-new', effect: 'where the way that the invite came is trusted, as over ssh' },
  ];
  throw new AgentError('HOST_UNKNOWN', `'${label}' is a stranger to this host; its words are ${words}`, { hints: next });
}

/** Throws KEY_UNFIT where an agent with hybrid keys would go to a host that has none. */
export function refuseClassicTarget({ state, name }: HostSession, { recipient, label }: Target): void {
  if (!state.hybrid || isHybrid(recipient)) return;
  throw new AgentError('KEY_UNFIT', `'${name}' takes hybrid keys only, and the invite of '${label}' has none`, {
    hints: [{ command: 'agent invite --pq', effect: 'on the target: prints one that has; nothing was changed' }],
  });
}

function knownHost({ host }: Pick<HostSession, 'host'>, name: string): HostSession['host']['known'][number] {
  const matches = host.known.filter((one) => one.label === name || one.key === name);
  const [match] = matches;
  if (match !== undefined && matches.length === 1) return match;
  throw new AgentError(
    'HOST_UNKNOWN',
    match === undefined ? `'${name}' is neither a file nor a host that this one knows` : `several known hosts are called '${name}'`,
    { hints: [{ command: 'agent fence --to INVITE --accept-new', effect: "with the file that the target's `agent invite` printed" }] },
  );
}

function normalWords(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .split(/[\s-]+/)
    .join('-');
}
