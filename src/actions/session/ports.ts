import type { Clock } from '../../core/clock.ts';
import type { Files } from '../../core/files.ts';
import type { Threads } from '../../core/threads/job.ts';
import type { Machine } from '../../host/home.ts';
import type { FileSystemKind } from '../../providers/file-system.ts';
import type { ProcessTable } from '../../providers/processes.ts';
import type { Sqlite } from '../../providers/sqlite/sqlite.ts';

/** Tells a person that long work goes on. */
export type Progress = (event: { readonly phase: string; readonly files?: number; readonly bytes?: bigint }) => void;

/** All that an action knows of the world; `cli/` builds the real one, tests their own. */
export interface Ports {
  readonly files: Files;
  readonly clock: Clock;
  /** Where bytes are read, hashed, packed and opened. */
  readonly threads: Threads;
  readonly processes: ProcessTable;
  readonly machine: Machine;
  /** Random bytes for nonces. */
  readonly random: (length: number) => Buffer;
  /** The host directory. */
  readonly hostDirectory: string;
  /** Where an agent root is looked for, and whether only there (PERDURE_ROOT) or in the parents too. */
  readonly start: { readonly directory: string; readonly exact: boolean };
  /** The directory from which relative paths of arguments are taken: that of `-C`, or the current one. */
  readonly cwd: string;
  /** The directory of profiles of a user's own. */
  readonly profileDirectory: string;
  /** The variables of the environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The account's home directory. */
  readonly home: string;
  readonly progress: Progress;
  /** The means to read databases that are in use; null where there is none. */
  readonly sqlite: () => Promise<Sqlite | null>;
  /** The file system of a path; null where the system does not tell. */
  readonly fileSystem: (path: string) => Promise<FileSystemKind | null>;
}
