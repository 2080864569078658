import { lstatSync, type BigIntStats } from 'node:fs';
import type { Digest } from '../core/digest.ts';
import { ROOT_PATH, type RelPath } from '../core/name.ts';
import type { Counter } from '../manifest/coverage.ts';
import { microsecondsOf } from '../manifest/entry.ts';
import type { Finding, SecretSheet } from '../manifest/facts.ts';
import type { FileClass } from '../profile/profile.ts';
import { modeOf } from './attributes.ts';
import type { ScanOptions } from './scan-options.ts';
import { Walk } from './walk.ts';

/** What was found on disk. */
export interface ScanResult {
  readonly root: { readonly name: string; readonly mode: number; readonly mtime: string; readonly pages: readonly Digest[] };
  /** Digest of each class but secret. */
  readonly classes: ReadonlyMap<FileClass, Digest>;
  readonly counts: ReadonlyMap<FileClass, number>;
  /** What the files of class secret hold; null where it is what the state of the index says. */
  readonly secrets: SecretSheet['files'] | null;
  readonly counter: Counter;
  /** Paths that nothing could read, special files, and files that kept changing. */
  readonly findings: readonly Finding[];
  /** Files with an SQLite header; and those of them that were read. */
  readonly databases: readonly RelPath[];
  readonly databasesRead: readonly RelPath[];
  readonly secretFiles: number;
  /** Whether a new index says more than the old one: of files that were read, or of directories that look different. */
  readonly learned: boolean;
}

/** Reads a live tree, directory by directory: links are stored, never followed; FIFOs, sockets and devices never opened. */
export async function scan(options: ScanOptions): Promise<ScanResult> {
  const stat = lstatSync(options.root, { bigint: true });
  const walk = new Walk(options);
  try {
    return await found(options, walk, stat);
  } finally {
    await walk.files.close();
  }
}

async function found({ rootName }: ScanOptions, walk: Walk, stat: BigIntStats): Promise<ScanResult> {
  const { result } = await walk.directory(ROOT_PATH);
  const { pages, classes } = await result;
  const secrets = await walk.files.secrets();
  await walk.files.end();
  await walk.settled();
  const { counts, counter, findings, databases } = walk.tally;
  return {
    root: { name: rootName, mode: modeOf(stat), mtime: microsecondsOf(stat.mtimeNs), pages },
    classes: new Map([...classes].filter(([name]) => name !== 'secret')),
    counts,
    ...secrets,
    counter,
    findings,
    databases,
    databasesRead: walk.files.databases,
    learned: walk.files.read > 0 || walk.learned,
  };
}
