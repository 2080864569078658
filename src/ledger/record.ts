import type { Brand } from '../core/brand.ts';
import { canonical, parseJson, type Json } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { ledgerLineValid, ledgerRecordValid } from '../core/generated/validators.js';
import type { PublicKey, SigningKey } from '../core/ssh/key.ts';
import { signText, verifyText } from '../core/ssh/signature.ts';

/** The digest of an agent's first record. */
export type AgentId = Brand<Digest, 'AgentId'>;
/** The count of changes of who may act. */
export type Epoch = Brand<number, 'Epoch'>;
/** What a checkpoint can declare: a change that would else raise an alarm. */
export type Declaration = 'identity-update' | 'evolve' | 'memory-repair';

/** A store key as the ledger knows it: its public half and the digest of its envelope. */
export interface StoreKeyEntry {
  readonly id: string;
  readonly use: 'main' | 'secret';
  readonly recipient: string;
  readonly envelope: Digest;
}

interface Base {
  readonly format: 'perdure-ledger/1';
  readonly seq: number;
  readonly epoch: Epoch;
  readonly by: PublicKey;
  /** Informs and never orders. */
  readonly at: string;
}
interface Later extends Base {
  readonly prev: Digest;
  readonly agent: AgentId;
}
export interface InitRecord extends Base {
  readonly kind: 'init';
  readonly recipient: string;
  readonly nonce: string;
  readonly recovery: readonly { readonly key: PublicKey; readonly recipient: string }[];
  readonly policy: { readonly cosigned: readonly ('checkpoint' | 'keys' | 'offer')[] };
}
export interface KeysRecord extends Later {
  readonly kind: 'keys';
  readonly readers: readonly string[];
  readonly storeKeys: readonly StoreKeyEntry[];
}
interface CheckpointRecord extends Later {
  readonly kind: 'checkpoint';
  readonly manifest: Digest;
  readonly declared?: readonly Declaration[];
}
interface FenceRecord extends Later {
  readonly kind: 'fence';
}
interface OfferRecord extends Later {
  readonly kind: 'offer';
  readonly manifest: Digest;
  readonly target: PublicKey;
  /** The newest manifest that the target says it has: what is in its packs need not travel. */
  readonly since?: Digest;
  /** After this instant the target refuses to promote; nothing goes back to the source by itself. */
  readonly notAfter?: string;
}
interface PromoteRecord extends Later {
  readonly kind: 'promote';
  readonly offer: Digest;
  readonly recipient: string;
}
interface DeclineRecord extends Later {
  readonly kind: 'decline';
  readonly offer: Digest;
}
interface ResumeRecord extends Later {
  readonly kind: 'resume';
  readonly asserted?: 'here' | 'accept-loss';
  readonly forsaken?: { readonly seq: number; readonly digest: Digest };
  /** The reason, as the base64 of an age file. */
  readonly sealed?: string;
}

/** A record of the ledger; docs/format/ledger.md is its specification. */
export type LedgerRecord =
  InitRecord | KeysRecord | CheckpointRecord | FenceRecord | OfferRecord | PromoteRecord | DeclineRecord | ResumeRecord;

/** A record with what was signed: its exact text, that text's digest, and the line that holds both. */
export interface SignedRecord {
  readonly record: LedgerRecord;
  readonly digest: Digest;
  readonly sigs: readonly string[];
  readonly line: string;
}

/** The SSHSIG namespace of ledger records. */
const LEDGER_NAMESPACE = 'perdure-ledger@v1';

/** Signs a record; deterministic, so that the same record is the same line. */
export function signRecord(record: LedgerRecord, key: SigningKey): SignedRecord {
  const text = canonical(record as unknown as Json);
  const sigs = [signText(text, { key, namespace: LEDGER_NAMESPACE })];
  return { record, digest: digestOf(text), sigs, line: canonical({ record: text, sigs }) };
}

/** Parses one line and verifies its signature by the key that the record names; throws LEDGER_DAMAGED. */
export function parseLine(line: string): SignedRecord {
  const outer = parseJson(line);
  if (!ledgerLineValid(outer)) throw damaged('a line that is not {"record","sigs"}');
  const { record: text, sigs } = outer as { readonly record: string; readonly sigs: readonly string[] };
  const value = parseJson(text);
  checkFormat(value);
  if (!ledgerRecordValid(value)) throw damaged('a record that its schema does not allow');
  const record = value as LedgerRecord;
  const subject = `record ${String(record.seq)} (${record.kind})`;
  if (canonical(value as Json) !== text || canonical({ record: text, sigs }) !== line) throw damaged(`${subject}: not in canonical form`);
  const signature = sigs[0] ?? '';
  if (!verifyText(text, { key: record.by, namespace: LEDGER_NAMESPACE, signature }))
    throw damaged(`${subject}: its signature does not fit`);
  return { record, digest: digestOf(text), sigs, line };
}

/** An error about the ledger's bytes. */
export function damaged(what: string): AgentError {
  return new AgentError('LEDGER_DAMAGED', `the ledger is damaged: ${what}`, {
    hints: [{ command: 'agent rehydrate BACKUP DIR', effect: 'with a whole copy; this one was left as it is' }],
  });
}

function checkFormat(value: unknown): void {
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
  if (typeof format === 'string' && /^perdure-ledger\/[0-9]+$/.test(format) && format !== 'perdure-ledger/1')
    throw new AgentError('FORMAT_UNSUPPORTED', `the ledger has a record in '${format}'; this program reads perdure-ledger/1`, {
      hints: [{ command: 'npm i -g perdure@latest', effect: 'a newer program may read it; nothing was changed' }],
    });
}
