import { join } from 'node:path';
import { canonical, parseJson } from '../core/canonical.ts';
import { AgentError } from '../core/errors.ts';
import type { Session } from './session.ts';

/** What an interrupted restore was asked for. */
interface RestoreNote {
  readonly revision: string;
  readonly paths: readonly string[];
}

/** The note that a restore is under way: while it is there the tree is a mixture of two states. */
export function restoreNote({ ports, control }: Pick<Session, 'ports' | 'control'>): {
  readonly read: () => Promise<RestoreNote | null>;
  readonly write: (note: RestoreNote) => Promise<void>;
  readonly clear: () => Promise<void>;
} {
  const path = join(control, 'local', 'restore');
  return {
    async read() {
      const bytes = await ports.files.readIfPresent(path);
      return bytes === null ? null : ((parseJson(bytes.toString('utf8')) ?? { revision: 'HEAD', paths: [] }) as unknown as RestoreNote);
    },
    write: async ({ revision, paths }) => {
      await ports.files.replace(path, canonical({ revision, paths: [...paths] }));
    },
    clear: () => ports.files.remove(path),
  };
}

/** Throws RESTORE_UNFINISHED where the tree is a mixture that is not to be recorded. */
export async function refuseUnfinished(session: Pick<Session, 'ports' | 'control' | 'name'>): Promise<void> {
  const note = await restoreNote(session).read();
  if (note === null) return;
  const paths = note.paths.map((path) => ` '${path}'`).join('');
  throw new AgentError('RESTORE_UNFINISHED', `a restore of '${session.name}' to record ${note.revision} was interrupted`, {
    hints: [
      { command: `agent restore ${note.revision}${paths} --yes`, effect: 'finishes it' },
      { command: 'agent restore HEAD --yes', effect: 'goes back to what was recorded before it' },
    ],
  });
}
