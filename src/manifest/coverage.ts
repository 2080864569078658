/** What a walk met, adding up: walked = included + volatile + host + special + unreadable + vanished + changed. */
export interface Coverage {
  readonly walked: number;
  readonly included: number;
  /** Bytes of the included files, as a decimal. */
  readonly bytes: string;
  /** Left out: what the profile calls volatile, or bound to a host. A directory counts as one. */
  readonly volatile: number;
  readonly host: number;
  /** FIFOs, sockets and devices. */
  readonly special: number;
  readonly unreadable: number;
  readonly vanished: number;
  /** Still changing after every attempt; included as last read. */
  readonly changed: number;
  /** Whether nothing that matters is missing. */
  readonly complete: boolean;
}

/** The counted part of a coverage, while a walk goes on. */
export type Counter = { -readonly [K in Exclude<keyof Coverage, 'complete' | 'bytes' | 'walked'>]: number } & { bytes: bigint };

/** A counter at zero. */
export function newCounter(): Counter {
  return { included: 0, volatile: 0, host: 0, special: 0, unreadable: 0, vanished: 0, changed: 0, bytes: 0n };
}

/** Closes a count. */
export function coverageOf(counter: Counter): Coverage {
  const { included, volatile, host, special, unreadable, vanished, changed, bytes } = counter;
  return {
    walked: included + volatile + host + special + unreadable + vanished + changed,
    included,
    bytes: String(bytes),
    volatile,
    host,
    special,
    unreadable,
    vanished,
    changed,
    complete: unreadable === 0 && changed === 0,
  };
}

/** The sum of two counts. */
export function addCounters(one: Counter, other: Counter): Counter {
  const sum = { ...one };
  for (const key of Object.keys(sum) as (keyof Counter)[])
    if (key === 'bytes') sum.bytes += other.bytes;
    else sum[key] += other[key];
  return sum;
}
