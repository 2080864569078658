import { digestOf, type Digest } from '../core/digest.ts';
import { damaged, parseLine, readVerified, type SignedRecord } from './record.ts';
import { reduce } from './reduce.ts';
import type { LedgerState } from './state.ts';

/**
 * A verified ledger: every signature fits, every record follows the one before and was signed by who might. Records of a part
 * that was verified before are read when they are asked for.
 */
export interface Chain {
  readonly records: readonly SignedRecord[];
  readonly digests: readonly Digest[];
  readonly state: LedgerState;
  /** The record with this seq, without reading all. */
  record(seq: number): SignedRecord | undefined;
  /** The whole lines. */
  readonly bytes: Buffer;
  /** Bytes of an unterminated line behind them: the torn write of the record that this host has pending. */
  readonly torn: number;
}

/** The beginning of a ledger that was verified before: its length in bytes, their digest, and what they fold to. */
export interface VerifiedPrefix {
  readonly length: number;
  readonly digest: Digest;
  readonly state?: LedgerState | undefined;
}

/**
 * Reads a ledger. Of `verified`, which the caller vouches for, signatures are not verified again where the bytes are the same,
 * and where it has the state, nothing is. An unterminated last line is damage, unless it is the beginning of `pending`, the
 * line that this host was appending when it was interrupted. Throws LEDGER_DAMAGED or FORMAT_UNSUPPORTED.
 */
export function parseChain(
  bytes: Buffer,
  { pending, verified }: { readonly pending?: string | undefined; readonly verified?: VerifiedPrefix | undefined } = {},
): Chain {
  const length = bytes.lastIndexOf(0x0a) + 1;
  const tail = bytes.toString('utf8', length);
  if (tail !== '' && pending?.startsWith(tail) !== true) throw damaged('its last line is cut');
  const known =
    verified !== undefined && verified.length <= length && digestOf(bytes.subarray(0, verified.length)) === verified.digest
      ? verified
      : null;
  const prefix = bytes.subarray(0, known?.length ?? 0);
  const rest = bytes.subarray(prefix.length, length);
  const later = linesOf(rest).map(parseLine);
  let state: LedgerState | null = stateAt(prefix, known?.state);
  let earlier: readonly SignedRecord[] | null = null;
  if (state === null && prefix.length > 0) state = foldRecords((earlier = linesOf(prefix).map(readVerified)));
  for (const entry of later) state = reduce(state, entry);
  if (state === null) throw damaged('it is empty');
  return new ReadChain({ bytes: bytes.subarray(0, length), torn: bytes.length - length, prefix, later, earlier, state });
}

/** Folds records that were verified one by one. Throws LEDGER_DAMAGED. */
export function foldRecords(records: readonly SignedRecord[]): LedgerState {
  let state: LedgerState | null = null;
  for (const entry of records) state = reduce(state, entry);
  if (state === null) throw damaged('it is empty');
  return state;
}

/** The text of a ledger file. */
export function chainText(records: readonly SignedRecord[]): string {
  return records.map((entry) => `${entry.line}\n`).join('');
}

class ReadChain implements Chain {
  readonly bytes: Buffer;
  readonly torn: number;
  readonly state: LedgerState;
  readonly #prefix: Buffer;
  readonly #later: readonly SignedRecord[];
  #earlier: readonly SignedRecord[] | null;
  #records: readonly SignedRecord[] | null = null;
  #digests: readonly Digest[] | null = null;

  constructor(options: {
    readonly bytes: Buffer;
    readonly torn: number;
    readonly prefix: Buffer;
    readonly later: readonly SignedRecord[];
    readonly earlier: readonly SignedRecord[] | null;
    readonly state: LedgerState;
  }) {
    this.bytes = options.bytes;
    this.torn = options.torn;
    this.state = options.state;
    this.#prefix = options.prefix;
    this.#later = options.later;
    this.#earlier = options.earlier;
  }

  get records(): readonly SignedRecord[] {
    this.#earlier ??= linesOf(this.#prefix).map(readVerified);
    return (this.#records ??= [...this.#earlier, ...this.#later]);
  }

  get digests(): readonly Digest[] {
    return (this.#digests ??= this.records.map((entry) => entry.digest));
  }

  record(seq: number): SignedRecord | undefined {
    const count = this.state.seq + 1;
    const later = this.#later[seq - (count - this.#later.length)];
    if (later !== undefined || this.#records !== null || seq < 0 || seq >= count) return later ?? this.#records?.[seq];
    // Most often one of the last is asked for: lines are counted from the end.
    let end = this.#prefix.length - 1;
    for (let at = count - this.#later.length - 1; at > seq; at--) end = this.#prefix.lastIndexOf(0x0a, end - 1);
    return readVerified(this.#prefix.toString('utf8', this.#prefix.lastIndexOf(0x0a, end - 1) + 1, end));
  }
}

/** A folded state, where it is that of the last of these lines; else null. */
function stateAt(lines: Buffer, state: LedgerState | undefined): LedgerState | null {
  if (state === undefined || lines.length === 0) return null;
  const last = readVerified(lines.toString('utf8', lines.lastIndexOf(0x0a, lines.length - 2) + 1, lines.length - 1));
  return last.record.seq === state.seq && last.digest === state.head ? state : null;
}

function linesOf(bytes: Buffer): readonly string[] {
  const text = bytes.toString('utf8');
  if (Buffer.byteLength(text) !== bytes.length) throw damaged('it is not UTF-8');
  return text.split('\n').slice(0, -1);
}
