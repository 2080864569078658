import { join } from 'node:path';
import { canonical, parseJson } from '../../core/canonical.ts';
import { AgentError } from '../../core/errors.ts';
import { loadName, parseRelPath, showName, storeName, type RelPath, type StoredName } from '../../core/name.ts';
import { restoreNoteValid } from '../../core/generated/validators.js';
import { moveNote } from '../home/due.ts';
import type { Session } from '../session/session.ts';
import { word } from '../../core/shell.ts';

/** What an interrupted restore was asked for: the record, and paths within the root, and of what lies outside. */
interface RestoreNote {
  readonly seq: number;
  readonly paths: readonly RelPath[];
  readonly outside: readonly string[];
  /** The record of what was there before. */
  readonly before: number;
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
      if (bytes === null) return null;
      const value = parseJson(bytes.toString('utf8'));
      if (!restoreNoteValid(value))
        throw new AgentError('TREE_DAMAGED', `'${path}' says that a restore was interrupted, and not which`, {
          hints: [{ command: `rm ${word(path)}`, effect: 'then agent diff shows what the tree is, and agent restore HEAD puts it back' }],
        });
      const {
        paths,
        outside = [],
        ...rest
      } = value as Omit<RestoreNote, 'paths' | 'outside'> & {
        readonly paths: readonly StoredName[];
        readonly outside?: readonly string[];
      };
      return { ...rest, outside, paths: paths.map((one) => parseRelPath(loadName(one))) };
    },
    write: async ({ paths, ...rest }) => {
      await ports.files.replace(path, canonical({ ...rest, paths: paths.map(storeName) }));
    },
    clear: () => ports.files.remove(path),
  };
}

/** Throws RESTORE_UNFINISHED or REHOME_UNFINISHED where the tree is a mixture that is neither to be recorded nor to act. */
export async function refuseUnfinished(
  session: Pick<Session, 'ports' | 'control' | 'name' | 'root'>,
  { moving = false }: { readonly moving?: boolean } = {},
): Promise<void> {
  const moved = moving ? null : await moveNote(session).read();
  if (moved?.begun != null)
    throw new AgentError('REHOME_UNFINISHED', `a rehome of '${session.name}' was interrupted`, {
      hints: [{ command: `agent -C ${word(session.root)} rehome`, effect: 'finishes it' }],
    });
  const note = await restoreNote(session).read();
  if (note === null) return;
  const command = `agent -C ${word(session.root)} restore`;
  const paths = [...note.paths.map(showName), ...note.outside].map((path) => ` ${word(path)}`).join('');
  throw new AgentError('RESTORE_UNFINISHED', `a restore of '${session.name}' to record ${String(note.seq)} was interrupted`, {
    hints: [
      { command: `${command} ${String(note.seq)}${paths} --yes`, effect: 'finishes it' },
      { command: `${command} ${String(note.before)} --yes`, effect: 'goes back to what was recorded before it' },
    ],
  });
}
