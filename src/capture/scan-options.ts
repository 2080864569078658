import type { Clock } from '../core/clock.ts';
import type { Threads } from '../core/threads/job.ts';
import type { PutChunk } from '../manifest/tree.ts';
import type { PackWriter } from '../store/packs/pack-writer.ts';
import type { Profile } from '../profile/profile.ts';
import type { OpenDatabases } from './captured.ts';
import type { ScanIndexReader, ScanIndexWriter } from './index/scan-index.ts';

/** A store of contents. */
type ContentStore = Pick<PackWriter, 'claim' | 'addFrame' | 'put' | 'room'>;

/** The store of files of class secret, and that of all others. */
export type ContentStores = Readonly<Record<'main' | 'secret', ContentStore>>;

/** How a tree is read. */
export interface ScanOptions {
  /** Name of the root, as the facts name it. */
  readonly rootName: string;
  /** Real path of the root. */
  readonly root: string;
  /** The only name of the root that is read, where it is not all of it. */
  readonly only?: string;
  readonly profile: Profile;
  readonly clock: Clock;
  /** Where files are read and hashed. */
  readonly threads: Threads;
  /** Where new contents go; opened when there is the first. Absent in a check, which hashes and forgets. */
  readonly store?: () => Promise<ContentStores>;
  /** Takes the pages of directories. */
  readonly putTree: PutChunk;
  /** Absent where every byte is to be read. */
  readonly index?: ScanIndexReader | null;
  readonly newIndex?: ScanIndexWriter | null;
  /** Databases that may be written while the tree is read. */
  readonly databases?: OpenDatabases;
  /** Called for each directory with its files and their bytes, for progress. */
  readonly onFiles?: (files: number, bytes: bigint) => void;
}
