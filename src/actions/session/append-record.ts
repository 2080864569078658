import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { canonical, parseJson, type Json } from '../../core/canonical.ts';
import { instant } from '../../core/clock.ts';
import { finishDigest } from '../../core/digest.ts';
import { AgentError, isAgentError } from '../../core/errors.ts';
import { saveHost, type Host } from '../../host/home.ts';
import { loadMemory, saveMemory, type AgentMemory } from '../../host/memory.ts';
import { samePlace, type HomeId } from '../../host/place.ts';
import type { ProcessId } from '../../providers/processes.ts';
import { APPEND_ORDER, type AppendSteps } from '../../ledger/append.ts';
import { chainText, foldRecords } from '../../ledger/chain.ts';
import { mustBeCosigned } from '../../ledger/policy.ts';
import { recordText, signRecord, signedRecord, type LedgerRecord, type SignedRecord } from '../../ledger/record.ts';
import { REDUCER, epochAfter, reduce } from '../../ledger/reduce.ts';
import { seenOf } from '../../ledger/seen.ts';
import { outcomeOf } from '../../ledger/standing.ts';
import type { LedgerState } from '../../ledger/state.ts';
import { LEDGER_FILE } from '../../store/layout.ts';
import { checkCustodian, type Custodian } from '../custodian/custodian.ts';
import { openRoot, type HostSession, type Session } from './session.ts';

type Later = Exclude<LedgerRecord, { kind: 'init' }>;
type OnlyOf<R> = R extends Later ? Omit<R, 'format' | 'seq' | 'prev' | 'agent' | 'epoch' | 'by' | 'at'> : never;
/** What is particular to a record; the rest follows from the ledger. */
export type Draft = OnlyOf<Later>;

/** What appending needs of a place where a ledger is. */
export interface AppendTarget {
  readonly session: Pick<Session, 'ports' | 'control' | 'place' | 'name' | 'memory'> & { readonly host: Host };
  /**
   * Who this host was when it signed. A host directory that was restored since may not confirm itself with an old
   * assertion that it finds pending.
   */
  readonly signedAs: HomeId;
  /** The verified lines before it. */
  readonly before: Buffer;
  /** The state that the ledger is in with the record. */
  readonly after: LedgerState;
  /** Whether the ledger has the record already, and only the memory is to move. */
  readonly isThere?: boolean;
  /** Bytes of the torn line behind them. */
  readonly torn: number;
}

/** Signs the next record of the ledger and appends it durably; returns the session as it is then. */
export async function appendRecord(
  opened: HostSession,
  draft: Draft,
  { custodian }: { readonly custodian?: Custodian | undefined } = {},
): Promise<HostSession> {
  // A record follows all that was signed before, also what an interruption left pending in a root that is lost.
  const session = (await goOn(opened)) as HostSession;
  const { state, host, ports, chain } = session;
  const byCustodian = draft.kind === 'revoke' || draft.kind === 'recover' ? custodian : undefined;
  const record = {
    format: 'perdure-ledger/1',
    seq: state.seq + 1,
    prev: state.head,
    agent: state.agent,
    by: byCustodian?.key ?? host.key.publicKey,
    at: instant(ports.clock.now()),
    epoch: epochAfter(state, draft),
    ...draft,
  } as Later;
  const signed = byCustodian === undefined ? await signAsHost(session, record, custodian) : await signAlone(record, byCustodian);
  await appendSigned({ session, signedAs: host.actual, before: chain.bytes, after: reduce(chain.state, signed), torn: chain.torn }, signed);
  return (await openRoot(ports, session.root)) as HostSession;
}

async function signAlone(record: Later, custodian: Custodian): Promise<SignedRecord> {
  return signedRecord(record, [await custodian.sign(recordText(record))]);
}

async function signAsHost({ state, host, name }: HostSession, record: Later, custodian: Custodian | undefined): Promise<SignedRecord> {
  const alone = signRecord(record, host.key);
  refuseUncosigned({ state, name }, record, custodian);
  if (custodian === undefined || !mustBeCosigned(state, record)) return alone;
  checkCustodian(state, custodian, name);
  return signedRecord(record, [...alone.sigs, await custodian.sign(recordText(record))]);
}

const COSIGNED_COMMAND: Readonly<Record<string, string>> = {
  keys: 'agent keys add RECIPIENT --kit FILE',
  checkpoint: 'agent checkpoint --declare KIND --kit FILE',
  offer: 'agent fence --to INVITE --kit FILE',
  gc: 'agent gc --keep-last N --kit FILE',
};

/** Throws COSIGNATURE_MISSING where a recovery key must sign a record, too, and none is at hand. Call it before anything is written. */
export function refuseUncosigned(
  { state, name }: Pick<Session, 'state' | 'name'>,
  record: Parameters<typeof mustBeCosigned>[1],
  custodian: Custodian | undefined,
): void {
  if (custodian !== undefined || !mustBeCosigned(state, record)) return;
  throw new AgentError('COSIGNATURE_MISSING', `a recovery key must sign '${record.kind}' of '${name}', too`, {
    hints: [
      {
        command: COSIGNED_COMMAND[record.kind] ?? 'agent help COSIGNATURE_MISSING',
        effect: 'with the recovery kit, or --custodian KEY; nothing was changed',
      },
    ],
  });
}

/** Goes on with a record that was interrupted in this root, with its very bytes. Call it under the lock. */
export async function settlePending(session: Session): Promise<Session> {
  const pending = session.memory?.pending;
  // A copy of the root does not finish what was begun in the agent.
  return pending !== undefined && !samePlace(pending.place, session.place) ? session : goOn(session);
}

async function goOn(session: Session): Promise<Session> {
  const { pending, chain, host, memory, ports } = session;
  const outcome = outcomeOf(chain, pending);
  if (pending === null || host === null || memory?.pending === undefined || outcome === 'none' || outcome === 'lost') {
    if (host !== null && chain.torn > 0)
      throw new AgentError('LEDGER_DAMAGED', 'the last line of the ledger is cut, and no pending record says how it goes on');
    return session;
  }
  const isThere = outcome === 'settle';
  const earlier = isThere ? chain.records.slice(0, pending.record.seq) : null;
  const after = earlier === null ? reduce(chain.state, pending) : foldRecords([...earlier, pending]);
  const before = earlier === null ? chain.bytes : Buffer.from(chainText(earlier));
  await appendSigned({ session: { ...session, host }, signedAs: memory.pending.home, before, after, isThere, torn: chain.torn }, pending);
  return openRoot(ports, session.root, { unfinished: true });
}

/** Runs the steps of APPEND_ORDER, or the last alone. */
export async function appendSigned(target: AppendTarget, signed: SignedRecord): Promise<void> {
  const { session, before, torn, isThere = false } = target;
  const { ports, control, host } = session;
  const { files } = ports;
  const ledger = join(control, LEDGER_FILE);
  const steps: AppendSteps<Promise<void>> = {
    pending: () =>
      saveMemory(files, host.directory, {
        ...memoryBefore(session, signed),
        pending: { line: signed.line, place: session.place, home: target.signedAs },
      }),
    claim: () => claim(session, signed),
    append: async () => {
      if (torn > 0) await files.truncate(ledger, before.length);
      await files.append(ledger, `${signed.line}\n`, { at: before.length });
    },
    settle: async () => {
      await settle(target, signed);
      await files.remove(claimPath(control, signed));
    },
  };
  try {
    for (const step of APPEND_ORDER) if (!isThere || step === 'settle') await steps[step]();
  } catch (error) {
    if (isAgentError(error) && error.code === 'RACE_LOST') await withdraw(target, signed);
    throw error;
  }
}

/** Takes a pending record back that lost its race: it is in no ledger, and nobody was told of it. */
async function withdraw({ session }: AppendTarget, signed: SignedRecord): Promise<void> {
  const { files } = session.ports;
  const agent = signed.record.kind === 'init' ? signed.digest : signed.record.agent;
  const now = await loadMemory(files, session.host.directory, agent);
  if (now?.pending?.line !== signed.line) return;
  const { pending: _, ...rest } = now;
  await saveMemory(files, session.host.directory, rest);
}

/** Moves what this host has last seen forward to the state, without a record of its own: foreign records came home. */
export async function noteSeen(session: HostSession, state: LedgerState): Promise<void> {
  const { ports, host, memory } = session;
  if (memory !== null) await saveMemory(ports.files, host.directory, { ...memory, seen: seenOf(state) });
}

async function settle(target: AppendTarget, signed: SignedRecord): Promise<void> {
  const { session, signedAs, after } = target;
  const { ports, host, place } = session;
  const { record } = signed;
  const { format, agent, name, home } = memoryBefore(session, signed);
  const asserted = (record.kind === 'resume' && record.asserted === 'here') || record.kind === 'recover';
  const confirmed = asserted || record.kind === 'promote' || record.kind === 'init';
  if (asserted) await saveHost(ports.files, { ...host, noted: signedAs });
  const settled = seenOf(after);
  // A close or a rehydrate may have moved on meanwhile.
  const known = session.memory?.seen;
  const seen = known !== undefined && known.seq > settled.seq && record.kind !== 'resume' && record.kind !== 'recover' ? known : settled;
  await saveMemory(ports.files, host.directory, {
    format,
    agent,
    name,
    home: confirmed ? signedAs : home,
    roots: [{ name: 'main', place }],
    seen,
    verified: verifiedBy(target, signed),
  });
}

/** The ledger as it was verified when it was opened, and the record, which this host or the recovery key signed. */
function verifiedBy({ before, after }: AppendTarget, signed: SignedRecord): NonNullable<AgentMemory['verified']> {
  const line = Buffer.from(`${signed.line}\n`);
  const digest = finishDigest(createHash('sha256').update(before).update(line));
  return { length: before.length + line.length, digest, folded: { by: REDUCER, state: after } };
}

function memoryBefore(session: AppendTarget['session'], signed: SignedRecord): AgentMemory {
  const { memory, host, name } = session;
  if (memory !== null) return memory;
  const agent = signed.record.kind === 'init' ? signed.digest : signed.record.agent;
  return { format: 'perdure-memory/1', agent, name, home: host.actual, roots: [] };
}

interface Claim extends ProcessId {
  readonly digest: string;
}

/** Of two writers that both believe to hold the lock, one gets the seq. A claim whose process is gone counts for nothing. */
async function claim({ ports, control }: AppendTarget['session'], signed: SignedRecord): Promise<void> {
  const { files, processes } = ports;
  const path = claimPath(control, signed);
  const mine: Claim = { ...processes.self, digest: signed.digest };
  if (await files.create(path, canonical(mine as unknown as Json))) return;
  const other = parseJson((await files.readIfPresent(path))?.toString('utf8') ?? '') as Claim | undefined;
  if (other !== undefined && other.digest !== signed.digest && other.pid !== processes.self.pid && processes.isAlive(other))
    throw new AgentError('RACE_LOST', `process ${String(other.pid)} is writing the same record`, {
      hints: [{ command: 'agent status', effect: 'shows what the other one did; nothing was changed' }],
    });
  await files.replace(path, canonical(mine as unknown as Json));
}

function claimPath(control: string, { record }: SignedRecord): string {
  return join(control, 'local', 'txn', String(record.seq));
}
