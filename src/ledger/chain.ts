import { digestOf, type Digest } from '../core/digest.ts';
import { damaged, parseLine, readVerified, type SignedRecord } from './record.ts';
import { reduce } from './reduce.ts';
import type { LedgerState } from './state.ts';

/** A verified ledger: every signature fits, every record follows the one before and was signed by who might. */
export interface Chain {
  readonly records: readonly SignedRecord[];
  readonly digests: readonly Digest[];
  readonly state: LedgerState;
  /** Bytes up to the end of the last whole line. */
  readonly length: number;
  /** Bytes of an unterminated line behind it: the torn write of the record that this host has pending. */
  readonly torn: number;
}

/** The beginning of a ledger that was verified before: its length in bytes, and their digest. */
export interface VerifiedPrefix {
  readonly length: number;
  readonly digest: Digest;
}

/**
 * Reads a ledger. Signatures of `verified`, which the caller vouches for, are not verified again where the bytes are the
 * same; their order and who might sign is. An unterminated last line is damage, unless it is the beginning of `pending`, the line that this host
 * was appending when it was interrupted. Throws LEDGER_DAMAGED or FORMAT_UNSUPPORTED.
 */
export function parseChain(
  bytes: Buffer,
  { pending, verified }: { readonly pending?: string | undefined; readonly verified?: VerifiedPrefix | undefined } = {},
): Chain {
  const length = bytes.lastIndexOf(0x0a) + 1;
  const tail = bytes.toString('utf8', length);
  if (tail !== '' && pending?.startsWith(tail) !== true) throw damaged('its last line is cut');
  const text = bytes.toString('utf8', 0, length);
  if (Buffer.byteLength(text) !== length) throw damaged('it is not UTF-8');
  const known = verified !== undefined && verified.length <= length && digestOf(bytes.subarray(0, verified.length)) === verified.digest;
  const prefix = known ? bytes.toString('utf8', 0, verified.length).split('\n').length - 1 : 0;
  const records = text
    .split('\n')
    .slice(0, -1)
    .map((line, at) => (at < prefix ? readVerified(line) : parseLine(line)));
  const chain = chainOf(records);
  return { ...chain, length, torn: bytes.length - length };
}

/** Folds records that were verified one by one. */
export function chainOf(records: readonly SignedRecord[]): Omit<Chain, 'length' | 'torn'> {
  let state: LedgerState | null = null;
  for (const entry of records) state = reduce(state, entry);
  if (state === null) throw damaged('it is empty');
  return { records, digests: records.map((entry) => entry.digest), state };
}

/** The text of a ledger file. */
export function chainText(records: readonly SignedRecord[]): string {
  return records.map((entry) => `${entry.line}\n`).join('');
}
