import { join } from 'node:path';
import { AgentError } from '../core/errors.ts';
import { signMessage } from '../ledger/message.ts';
import type { SignedRecord } from '../ledger/record.ts';
import { appendRecord } from './session/append-record.ts';
import { checkOpened, checkSealed } from './state/check-store.ts';
import { recipientFor } from './sealed/store-keys.ts';
import { moveNote, noteMoved, placeHere } from './home/due.ts';
import type { Facts } from '../manifest/facts.ts';
import { compareLive } from './state/live-tree.ts';
import type { Ports } from './session/ports.ts';
import { OLD_TREE, hasHost, openRoot, type HostSession } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';
import { openSettled, withWriter } from './session/writer.ts';
import { identitiesOf } from '../host/home.ts';
import { CONTROL } from './session/control.ts';

/** The answer to an offer. */
export interface AnswerResult {
  readonly session: HostSession;
  /** The reply, for `agent close` on the source. */
  readonly reply: string;
  /** False where the same answer had been given before. */
  readonly recorded: boolean;
  readonly missingSecrets: readonly string[];
  /** Whether its files are written for another place, so that it has to be made one of this first. */
  readonly moved: boolean;
}

/** Takes over: the only promotion point. Every byte of store and tree is checked against the offered state before. */
export async function promote(ports: Ports): Promise<AnswerResult> {
  const given = await givenAnswer(ports, 'promote');
  if (given !== null) return given;
  return withWriter(ports, 'promote', async (session) => {
    const { state, host } = session;
    const { offer } = state;
    if (offer === null) throw new AgentError('INTERNAL', 'an offer vanished under the lock');
    if (offer.notAfter !== undefined && Date.parse(offer.notAfter) < ports.clock.now())
      throw new AgentError('OFFER_EXPIRED', `the offer of '${session.name}' ended at ${offer.notAfter}`, {
        hints: [{ command: 'agent decline', effect: 'its reply lets the source act again' }],
      });
    const { missingSecrets, facts } = await checkOffered(session);
    await noteMoved(session, facts, { here: placeHere(session), profile: await readProfile(session) });
    const after = await appendRecord(session, { kind: 'promote', offer: offer.digest, recipient: recipientFor(host, state) });
    // Of the trees that were replaced here the last one stays; those before it belong to moves that were promoted long ago.
    await session.ports.files.removeTree(join(session.control, OLD_TREE, CONTROL, OLD_TREE));
    return {
      session: after,
      reply: replyOf(after, lastRecord(after)),
      recorded: true,
      missingSecrets,
      moved: (await moveNote(after).read()) !== null,
    };
  });
}

/** Gives an offer back: the source is holder again, and this host can never take it up. */
export async function decline(ports: Ports): Promise<AnswerResult> {
  const given = await givenAnswer(ports, 'decline');
  if (given !== null) return given;
  return withWriter(ports, 'decline', async (session) => {
    const { offer } = session.state;
    if (offer === null) throw new AgentError('INTERNAL', 'an offer vanished under the lock');
    const after = await appendRecord(session, { kind: 'decline', offer: offer.digest });
    return { session: after, reply: replyOf(after, lastRecord(after)), recorded: true, missingSecrets: [], moved: false };
  });
}

/** The answer that this host gave to the newest offer, if it was this one: the reply is then the same to the byte. */
async function givenAnswer(ports: Ports, kind: 'promote' | 'decline'): Promise<AnswerResult | null> {
  const session = await openSettled(ports);
  if (!hasHost(session) || session.state.offer !== null || session.view.seen !== 'contained') return null;
  const last = session.chain.records.findLast(
    ({ record }) => record.kind === 'promote' || record.kind === 'decline' || record.kind === 'offer',
  );
  if (last?.record.kind !== kind || last.record.by !== session.host.key.publicKey) return null;
  return { session, reply: replyOf(session, last), recorded: false, missingSecrets: [], moved: (await moveNote(session).read()) !== null };
}

async function checkOffered(session: HostSession): Promise<{ readonly missingSecrets: readonly string[]; readonly facts: Facts }> {
  const { ports, reader, state, host, root } = session;
  // Every signature again, whatever this host verified before.
  const { chain } = await openRoot(ports, root, { trusting: false });
  const sealed = await checkSealed(reader, chain, ports);
  const [bad] = sealed.findings;
  if (bad !== undefined)
    throw new AgentError('BUNDLE_DAMAGED', `the store of '${session.name}' here is not whole: ${bad.subject}`, {
      hints: [{ command: 'agent verify', effect: 'lists all; copy it again from the source' }],
    });
  const manifest = state.offer?.manifest ?? state.head;
  const opened = await checkOpened({ readers: [reader], ledger: state, manifest, identities: identitiesOf(host), threads: ports.threads });
  const profile = await readProfile(session);
  const { changes, missingSecrets } = await compareLive(session, opened, { root, profile, trustIndex: false });
  const [first] = changes;
  if (first !== undefined)
    throw new AgentError(
      'TREE_DIFFERS',
      `the tree is not the one that is offered: '${first.path}' was ${first.kind}${changes.length > 1 ? `, and ${String(changes.length - 1)} more` : ''}`,
      {
        hints: [
          { command: 'agent verify', effect: 'lists all differences' },
          { command: 'agent rehydrate BUNDLE .', effect: 'puts the offered state in place' },
        ],
      },
    );
  return { missingSecrets, facts: opened.facts };
}

function replyOf({ host, state }: HostSession, { line }: SignedRecord): string {
  return signMessage({ format: 'perdure-reply/1', by: host.key.publicKey, agent: state.agent, records: [line] }, host.key);
}

function lastRecord({ chain }: HostSession): SignedRecord {
  const last = chain.records.at(-1);
  if (last === undefined) throw new AgentError('INTERNAL', 'the ledger is empty');
  return last;
}
