import type { RestorePlan } from '../../actions/restore.ts';
import { CHANGE_MARK, count, firstLines } from '../text.ts';
import { AgentError } from '../../core/errors.ts';
import type { Terminal } from '../terminal.ts';

/** Says what came of `agent restore`, for a person. */
export async function confirmRestore(
  terminal: Terminal,
  { plan, yes, command }: { readonly plan: RestorePlan; readonly yes: boolean; readonly command: string },
): Promise<void> {
  if (yes) return;
  if (terminal.interactive && (await terminal.ask('go on (yes/no)? ')).trim() === 'yes') return;
  throw new AgentError(
    'RESTORE_UNCONFIRMED',
    `'${plan.name}' would go back to record ${String(plan.seq)}: ${count(plan.changes.length, 'path')}`,
    {
      hints: [{ command, effect: 'what is there now is recorded before; nothing was changed' }],
    },
  );
}

/** Says what came of `agent restore`, for a person. */
export function planLines({ seq, at, classes, changes, delicate, stay }: RestorePlan): readonly string[] {
  return [
    `goes back to record ${String(seq)} of ${at}: ${
      Object.entries(classes)
        .map(([name, number]) => `${name} ${count(number, 'path')}`)
        .join(', ') || 'nothing'
    }`,
    ...firstLines(
      changes.map(({ kind, path }) => `  ${CHANGE_MARK[kind]} ${path}`),
      20,
    ),
    ...firstLines(
      delicate.map(({ path, flag }) => `${flag} goes back, which others rely on: ${path}`),
      20,
    ),
    ...(stay === 0 ? [] : [`stays as it is: ${count(stay, 'path')} of class host or secret`]),
  ];
}
