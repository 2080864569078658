import { explainRecord } from './session/record-text.ts';
import { readFacts } from './state/read-state.ts';
import { stateOf } from '../ledger/record.ts';
import type { Ports } from './session/ports.ts';
import { isExpired } from './state/revision.ts';
import { openSession } from './session/session.ts';

/** One record, for people. */
export interface LogEntry {
  readonly seq: number;
  readonly digest: string;
  readonly kind: string;
  readonly epoch: number;
  readonly at: string;
  readonly by: string;
  readonly text: string;
  readonly manifest?: string;
  /** The message of a checkpoint, where a key opens it. */
  readonly message?: string;
}

/** So many of the newest checkpoints are opened for their message. */
const OPENED = 20;

/** Lists the records of the ledger, newest first, with the messages of the newest checkpoints. */
export async function log(
  ports: Ports,
  { limit }: { readonly limit?: number | undefined } = {},
): Promise<{ readonly name: string; readonly entries: readonly LogEntry[] }> {
  const session = await openSession(ports);
  const chosen = [...session.chain.records].reverse().slice(0, limit);
  const entries: LogEntry[] = [];
  let opened = 0;
  for (const { record, digest } of chosen) {
    const manifest = isExpired(session.state, record.seq) ? undefined : (stateOf(record) ?? undefined);
    const message = manifest === undefined || opened++ >= OPENED ? undefined : (await readFacts(session, manifest))?.message;
    const explained = explainRecord(session, record);
    entries.push({
      seq: record.seq,
      digest,
      kind: record.kind,
      epoch: record.epoch,
      at: record.at,
      ...explained,
      ...(isExpired(session.state, record.seq) && stateOf(record) !== null ? { text: `${explained.text}, given up by gc` } : {}),
      ...(manifest === undefined ? {} : { manifest }),
      ...(message === undefined ? {} : { message }),
    });
  }
  return { name: session.name, entries };
}
