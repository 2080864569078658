import { join } from 'node:path';
import { digestOf } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { foldRecords, chainText, type Chain } from '../ledger/chain.ts';
import { compareSeen, seenOf } from '../ledger/seen.ts';
import { parseReply } from '../ledger/message.ts';
import { LEDGER_FILE, envelopeFile, grantFile, packListFile } from '../store/layout.ts';
import type { StoreReader } from '../store/reader.ts';
import { noteSeen, settlePending } from './session/append-record.ts';
import { envelopeAt } from './state/check-store.ts';
import { withBundle, type Input } from './bundle/bundle.ts';
import type { Ports } from './session/ports.ts';
import { refusal } from './session/refusal.ts';
import { findRoot, hasHost, openRoot, type HostSession } from './session/session.ts';
import { underLock } from './session/writer.ts';

/**
 * Brings a newer ledger of the agent home from a bundle: that of a recover which outranks this host, or the records of a target
 * whose reply was lost. What this root had beside it is kept as proof in `local/dropped`.
 */
export async function closeByBundle(ports: Ports, source: { readonly path: string; readonly input: Input }): Promise<CloseResult> {
  const root = await findRoot(ports);
  const opened = await openRoot(ports, root);
  return withBundle(ports, source, ({ chain: newer, reader }) =>
    underLock(ports, opened.chain.state.agent, async () => {
      const session = await settlePending(await openRoot(ports, root));
      if (!hasHost(session)) throw new AgentError('REPLY_FOREIGN', 'this host has no keys, so that nothing waits here for a word');
      const { chain, control, view, memory } = session;
      if (newer.state.agent !== chain.state.agent)
        throw new AgentError('BUNDLE_FOREIGN', `'${reader.name}' is a bundle of another agent than '${session.name}'`, {
          hints: [{ command: 'agent -C DIR close BUNDLE', effect: 'with the directory of that agent' }],
        });
      if (view.root === 'elsewhere') throw refusal(session, { allowed: false, obstacle: 'COPY', condition: 'root' });
      if (compareSeen(chain, seenOf(newer.state)) === 'contained') {
        // Cut between ledger and memory, the same command moves the memory.
        if (view.seen === 'contained') await noteSeen(session, chain.state);
        return { session, added: 0, answer: null, givenUp: !chain.digests.includes(newer.state.head) };
      }
      const here = compareSeen(newer, seenOf(chain.state));
      if (here !== 'contained' || !['contained', 'none'].includes(compareSeen(newer, memory?.seen ?? null)))
        throw refusal(session, { allowed: false, obstacle: here === 'behind' ? 'STALE' : 'FORKED', condition: 'seen' });
      const isDropped = !newer.digests.includes(chain.state.head);
      if (isDropped) await ports.files.replace(join(control, 'local', 'dropped', `${chain.state.head}.jsonl`), chainText(chain.records));
      await bringKeys(session, newer, reader);
      await ports.files.replace(join(control, LEDGER_FILE), chainText(newer.records));
      await noteSeen(session, newer.state);
      const last = newer.state.recovered === null ? null : 'recover';
      return {
        session: (await openRoot(ports, root)) as HostSession,
        added: newer.records.length - commonLength(chain, newer),
        answer: last,
        isDropped,
      };
    }),
  );
}

/**
 * Brings what the newer ledger names and this root needs to read its own states: envelopes and folds. The envelopes that are
 * here, which open to this host, stay under their digests.
 */
async function bringKeys({ ports: { files }, control }: HostSession, { state }: Chain, reader: StoreReader): Promise<void> {
  const read = (name: string): Promise<Buffer | null> => reader.read(name);
  for (const { id, envelope } of Object.values(state.keys.storeKeys)) {
    const place = join(control, envelopeFile(id));
    const here = await files.readIfPresent(place);
    if (here !== null && digestOf(here) === envelope) continue;
    const bytes = await envelopeAt(read, { id, envelope });
    if (bytes === null) continue;
    if (here !== null) await files.create(join(control, grantFile(id, digestOf(here))), here);
    await files.replace(place, bytes);
  }
  for (const page of state.folded) {
    const bytes = await read(packListFile(page));
    if (bytes !== null) await files.create(join(control, packListFile(page)), bytes);
  }
}

function commonLength(a: Chain, b: Chain): number {
  const at = a.digests.findIndex((digest, seq) => b.digests[seq] !== digest);
  return at < 0 ? a.digests.length : at;
}

/** What came home. */
export interface CloseResult {
  readonly session: HostSession;
  /** Records that came home; none where they were here already. */
  readonly added: number;
  readonly answer: 'promote' | 'decline' | 'recover' | null;
  /** Whether records of this host were given up; they are kept as proof. */
  readonly isDropped?: boolean;
  /** Whether a bundle is of a branch that a recover gave up. */
  readonly givenUp?: boolean;
}

/** Brings a target's answer home. Writes no record of its own: what the target signed says who may act. */
export async function close(ports: Ports, reply: Buffer): Promise<CloseResult> {
  const { reply: message, records } = parseReply(reply);
  const root = await findRoot(ports);
  const opened = await openRoot(ports, root);
  if (!hasHost(opened)) throw new AgentError('REPLY_FOREIGN', 'this host has no keys, so that nothing waits here for a reply');
  return underLock(ports, opened.chain.state.agent, async () => {
    const session = await settlePending(await openRoot(ports, root));
    if (!hasHost(session)) throw new AgentError('REPLY_FOREIGN', 'the keys of this host are gone');
    const { chain, control, view } = session;
    if (message.agent !== chain.state.agent)
      throw new AgentError('REPLY_FOREIGN', `the reply is about another agent than '${session.name}'`, {
        hints: [{ command: 'agent -C DIR close REPLY', effect: 'with the directory of that agent' }],
      });
    // Elsewhere the record would hide from the agent's own root that it came.
    if (view.root === 'elsewhere') throw refusal(session, { allowed: false, obstacle: 'COPY', condition: 'root' });
    if (view.seen === 'behind' || view.seen === 'diverged')
      throw refusal(session, { allowed: false, obstacle: view.seen === 'behind' ? 'STALE' : 'FORKED', condition: 'seen' });
    const known = new Set<string>(chain.digests);
    const missing = records.filter((one) => !known.has(one.digest));
    const last = records.at(-1)?.record.kind;
    const answer = last === 'promote' || last === 'decline' ? last : null;
    if (missing.length === 0) {
      // Cut between ledger and memory, the same command moves the memory.
      if (view.seen === 'contained') await noteSeen(session, chain.state);
      return { session, added: 0, answer };
    }
    const [first] = missing;
    if (first?.record.kind !== 'init' && first !== undefined && first.record.prev !== chain.state.head && known.has(first.record.prev))
      throw refusal(session, { allowed: false, obstacle: 'FORKED', condition: 'seen' });
    if (first?.record.kind !== 'init' && first?.record.prev !== chain.state.head)
      throw new AgentError('REPLY_FOREIGN', `the reply answers another offer than the newest of '${session.name}'`, {
        hints: [{ command: 'agent status', effect: 'shows what is awaited' }],
      });
    const state = foldRecords([...chain.records, ...missing]);
    // Put in place whole: nothing of ours is pending that could finish a line that was cut.
    await ports.files.replace(join(control, LEDGER_FILE), chainText([...chain.records, ...missing]));
    await noteSeen(session, state);
    return { session: (await openRoot(ports, root)) as HostSession, added: missing.length, answer };
  });
}
