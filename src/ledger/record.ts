import type { Brand } from '../core/brand.ts';
import { canonical, parseJson, type Json } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { ledgerLineValid, ledgerRecordValid } from '../core/generated/validators.js';
import type { PublicKey, SigningKey } from '../core/ssh/key.ts';
import { signText, signerOf, verifyText } from '../core/ssh/signature.ts';

/** The digest of an agent's first record. */
export type AgentId = Brand<Digest, 'AgentId'>;
/** The count of changes of who may act. */
export type Epoch = Brand<number, 'Epoch'>;
/** What a checkpoint can declare: a change that would else raise an alarm. */
export type Declaration = (typeof DECLARATIONS)[number];
/** All declarations. */
export const DECLARATIONS = ['identity-update', 'evolve', 'memory-repair', 'rehome'] as const;

/** What a policy can ask a recovery key's signature for: a declared change, a change of readers, an offer, states given up. */
export type CosignedKind = Declaration | 'keys' | 'offer' | 'gc';

/** The public half of a recovery key: whoever has the other half reads the agent and may take it over. */
export interface RecoveryKey {
  readonly key: PublicKey;
  readonly recipient: string;
}

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
/** The first record, whose digest is the agent. */
export interface InitRecord extends Base {
  readonly kind: 'init';
  readonly recipient: string;
  readonly nonce: string;
  readonly recovery: readonly RecoveryKey[];
  readonly policy: { readonly cosigned: readonly CosignedKind[] };
  /** The record of another agent from which this one descends, where a proof was asked for. */
  readonly parent?: { readonly agent: AgentId; readonly seq: number; readonly digest: Digest };
}
/** Who reads from now on, and by which store keys. */
export interface KeysRecord extends Later {
  readonly kind: 'keys';
  readonly readers: readonly string[];
  readonly storeKeys: readonly StoreKeyEntry[];
  /** The recovery keys from now on, where they change. */
  readonly recovery?: readonly RecoveryKey[];
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

interface RevokeRecord extends Later {
  readonly kind: 'revoke';
  readonly offer: Digest;
  readonly sealed: string;
}
/** A recovery key gives the agent to another host. */
export interface RecoverRecord extends Later {
  readonly kind: 'recover';
  readonly holder: PublicKey;
  readonly recipient: string;
  /** Newest records of the branches that are given up, as far as they are known. */
  readonly dropped: readonly { readonly seq: number; readonly digest: Digest; readonly epoch: number }[];
  /** The state that it goes on from: the newest that was there whole. */
  readonly manifest: Digest;
  readonly storeKeys: readonly StoreKeyEntry[];
  readonly sealed: string;
}
interface RestoreRecord extends Later {
  readonly kind: 'restore';
  /** The state that the tree is in now. */
  readonly manifest: Digest;
  /** The older state that it was taken from, whole or in part. */
  readonly of: Digest;
}
/** States are given up, packs were folded. */
export interface GcRecord extends Later {
  readonly kind: 'gc';
  /** Ranges of seqs, both ends included, whose states are given up. */
  readonly expired: readonly (readonly [number, number])[];
  /** Pack lists that say which packs took the place of which, oldest first: all that count from now on. */
  readonly folded: readonly Digest[];
}

/** A record of the ledger; docs/format/ledger.md is its specification. */
export type LedgerRecord =
  | InitRecord
  | KeysRecord
  | CheckpointRecord
  | FenceRecord
  | OfferRecord
  | PromoteRecord
  | DeclineRecord
  | ResumeRecord
  | RevokeRecord
  | RecoverRecord
  | RestoreRecord
  | GcRecord;

/** A record with what was signed: its exact text, that text's digest, and the line that holds both. */
export interface SignedRecord {
  readonly record: LedgerRecord;
  readonly digest: Digest;
  readonly sigs: readonly string[];
  /** Who signed beside `by`; whether that was asked for and they might is for `reduce` to say. */
  readonly cosigners: readonly PublicKey[];
  readonly line: string;
}

/** The SSHSIG namespace of ledger records. */
export const LEDGER_NAMESPACE = 'perdure-ledger@v1';

/** The text of a record, which is what is signed. */
export function recordText(record: LedgerRecord): string {
  return canonical(record as unknown as Json);
}

/** Signs a record; deterministic, so that the same record is the same line. */
export function signRecord(record: LedgerRecord, key: SigningKey): SignedRecord {
  return signedRecord(record, [signText(recordText(record), { key, namespace: LEDGER_NAMESPACE })]);
}

/** A record with signatures that were made elsewhere, that of `by` first; throws LEDGER_DAMAGED where one does not fit. */
export function signedRecord(record: LedgerRecord, sigs: readonly string[]): SignedRecord {
  return parseLine(canonical({ record: recordText(record), sigs }));
}

/** The state that a record names, where it names the agent's newest one; else null. */
export function stateOf(record: LedgerRecord): Digest | null {
  return record.kind === 'checkpoint' || record.kind === 'restore' || record.kind === 'recover' ? record.manifest : null;
}

/** Parses one line and verifies every signature, the first by the key that the record names; throws LEDGER_DAMAGED. */
export function parseLine(line: string): SignedRecord {
  const { record: text, sigs } = lineParts(line);
  const value = parseJson(text);
  checkFormat(value);
  if (!ledgerRecordValid(value)) throw damaged('a record that its schema does not allow');
  const record = value as LedgerRecord;
  const subject = `record ${String(record.seq)} (${record.kind})`;
  if (canonical(value as Json) !== text || canonical({ record: text, sigs }) !== line) throw damaged(`${subject}: not in canonical form`);
  const [own = '', ...others] = sigs;
  const cosigners = others.map(signerOf);
  const fits = (key: PublicKey | null, signature: string): boolean =>
    key !== null && verifyText(text, { key, namespace: LEDGER_NAMESPACE, signature });
  if (!fits(record.by, own) || !others.every((signature, at) => fits(cosigners[at] ?? null, signature)))
    throw damaged(`${subject}: its signature does not fit`);
  return { record, digest: digestOf(text), sigs, cosigners: cosigners.flatMap((key) => key ?? []), line };
}

/** Reads a line that this host verified before, byte for byte, and verifies it no more. */
export function readVerified(line: string): SignedRecord {
  const { record: text, sigs } = lineParts(line);
  const cosigners = sigs.slice(1).flatMap((signature) => signerOf(signature) ?? []);
  return { record: parseJson(text) as LedgerRecord, digest: digestOf(text), sigs, cosigners, line };
}

function lineParts(line: string): { readonly record: string; readonly sigs: readonly string[] } {
  const outer = parseJson(line);
  if (!ledgerLineValid(outer)) throw damaged('a line that is not {"record","sigs"}');
  return outer as { readonly record: string; readonly sigs: readonly string[] };
}

/** An error about the ledger's bytes. */
export function damaged(what: string): AgentError {
  return new AgentError('LEDGER_DAMAGED', `the ledger is damaged: ${what}`, {
    hints: [{ command: 'mv DIR DIR.damaged && agent rehydrate BACKUP DIR', effect: 'with a whole copy; this one was left as it is' }],
  });
}

function checkFormat(value: unknown): void {
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
  if (typeof format === 'string' && /^perdure-ledger\/[0-9]+$/.test(format) && format !== 'perdure-ledger/1')
    throw new AgentError('FORMAT_UNSUPPORTED', `the ledger has a record in '${format}'; this program reads perdure-ledger/1`, {
      hints: [{ command: 'npm i -g perdure@latest', effect: 'a newer program may read it; nothing was changed' }],
    });
}
