import { AgentError } from '../core/errors.ts';
import { seal } from '../store/age.ts';
import { appendRecord } from './session/append-record.ts';
import { checkCustodian, type Custodian } from './custodian/custodian.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { hostLabel, refusal } from './session/refusal.ts';
import { started, type ResumeResult } from './resume.ts';
import type { HostSession } from './session/session.ts';
import { readersOf } from './sealed/store-keys.ts';
import { openSettled, withWriter } from './session/writer.ts';

/** Who revokes, and how a person is asked. */
export interface RevokeOptions {
  readonly custodian: Custodian;
  /** Tells a person what a revoke does and gives back the reason; throws where nobody says so. */
  readonly confirm: (plan: { readonly name: string; readonly target: string; readonly seq: number }) => Promise<string>;
}

/**
 * Takes an offer back without the target's word: a person says, by the recovery key, that the target never took it up and
 * never will. If that is wrong two hosts act, which shows as soon as one sees the other's ledger.
 */
export async function revoke(ports: Ports, { custodian, confirm }: RevokeOptions): Promise<ResumeResult> {
  const opened = offering(assertMay(await openSettled(ports), 'revoke'));
  checkCustodian(opened.state, custodian, opened.name);
  const target = hostLabel(opened, opened.state.offer?.target);
  const reason = await confirm({ name: opened.name, target, seq: opened.state.offer?.seq ?? 0 });
  return withWriter(ports, 'revoke', async (locked) => {
    const session = offering(locked);
    const { offer } = session.state;
    if (offer === null) throw new AgentError('INTERNAL', 'an offer vanished under the lock');
    const sealed = (await seal([Buffer.from(reason)], readersOf(session, 'main'))).toString('base64');
    return started(await appendRecord(session, { kind: 'revoke', offer: offer.digest, sealed }, { custodian }));
  });
}

/** Gives the session back where this host is the source of an open offer. */
function offering(session: HostSession): HostSession {
  const { state, host, name } = session;
  if (state.offer === null)
    throw new AgentError('OFFER_MISSING', `no offer of '${name}' is open`, {
      hints: [{ command: 'agent status', effect: 'shows what can be done; nothing was changed' }],
    });
  if (state.holder !== host.key.publicKey) throw refusal(session, { allowed: false, obstacle: 'FOREIGN', condition: 'holder' });
  return session;
}
