import type { Clock } from '../core/clock.ts';
import type { PutChunk } from '../manifest/tree.ts';
import type { Profile } from '../profile/profile.ts';
import type { ScanIndexReader, ScanIndexWriter } from './scan-index.ts';

/** How a tree is read. */
export interface ScanOptions {
  /** Name of the root, as the facts name it. */
  readonly rootName: string;
  /** Real path of the root. */
  readonly root: string;
  readonly profile: Profile;
  readonly clock: Clock;
  /** Takes the chunks of files but those of class secret; a check gives one that forgets. */
  readonly put: PutChunk;
  /** Takes the pages of directories. */
  readonly putTree: PutChunk;
  /** Takes the chunks of files of class secret. */
  readonly putSecret: PutChunk;
  /** Absent where every byte is to be read. */
  readonly index?: ScanIndexReader | null;
  readonly newIndex?: ScanIndexWriter | null;
  /** Called for each file, for progress. */
  readonly onFile?: (bytes: bigint) => void;
}
