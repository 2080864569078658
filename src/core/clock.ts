/** The clock port: tests give their own, so that nothing sleeps. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after that many milliseconds, or at once when `wake` is aborted. */
  sleep(ms: number, wake?: AbortSignal): Promise<void>;
}

/** An instant as the formats write it: RFC 3339 in UTC, with milliseconds. It informs and never orders. */
export function instant(ms: number): string {
  return new Date(ms).toISOString();
}
