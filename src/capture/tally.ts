import type { RelPath } from '../core/name.ts';
import { showName } from '../core/name.ts';
import { isAgentError, systemCode } from '../core/errors.ts';
import { newCounter } from '../manifest/coverage.ts';
import type { FileEntry } from '../manifest/entry.ts';
import type { Finding, SecretSheet } from '../manifest/facts.ts';
import type { FileClass, Profile } from '../profile/profile.ts';

/** So many unclassified paths are named; the rest is counted. */
const NAMED = 10;

/** What a walk has met so far. */
export class Tally {
  readonly counter = newCounter();
  readonly counts = new Map<FileClass, number>();
  readonly findings: Finding[] = [];
  readonly databases: RelPath[] = [];
  readonly secrets: SecretSheet['files'][number][] = [];
  readonly firstUnclassified: RelPath[] = [];
  unclassified = 0;
  readonly #profile: Profile;
  readonly #onFile: (bytes: bigint) => void;

  constructor(profile: Profile, onFile: (bytes: bigint) => void) {
    this.#profile = profile;
    this.#onFile = onFile;
  }

  /** Counts one more included path. */
  include(name: FileClass): void {
    this.counter.included++;
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  /** Whether a class never travels; if so, counts what is left out. */
  leavesOut(name: FileClass): boolean {
    if (name !== 'volatile' && name !== 'host') return false;
    this.counter[name]++;
    return true;
  }

  /** Notes a path that could not be read; what went wrong elsewhere, as a disk that is full where packs go, passes through. */
  failed(path: RelPath, error: unknown): void {
    const code = systemCode(error);
    if (code === undefined || isAgentError(error) || ['ENOSPC', 'EDQUOT', 'EROFS'].includes(code)) throw error;
    if (code === 'ENOENT') this.counter.vanished++;
    else {
      this.counter.unreadable++;
      this.report('FILE_UNREADABLE', path);
    }
  }

  report(code: string, path: RelPath): void {
    this.findings.push({ code, subject: showName(path), class: this.#profile.classify(path).class });
  }

  /** Notes a file that was included. */
  file(entry: FileEntry, path: RelPath): void {
    this.include(entry.class);
    this.counter.bytes += BigInt(entry.size);
    if (entry.flags?.includes('sqlite') === true) this.databases.push(path);
    if (entry.flags?.includes('unclassified') === true) {
      this.unclassified++;
      if (this.firstUnclassified.length < NAMED) this.firstUnclassified.push(path);
    }
    this.#onFile(BigInt(entry.size));
  }
}
