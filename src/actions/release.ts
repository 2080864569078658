import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { applicationId } from '../capture/databases/live.ts';
import { HOLDER } from '../providers/sqlite/change.ts';
import { AgentError } from '../core/errors.ts';
import { fsPath, showName, type RelPath } from '../core/name.ts';
import { word } from '../core/shell.ts';
import { syncTree } from '../install/durable.ts';
import { walkTree } from '../manifest/tree.ts';
import { HELD } from '../profile/profile.ts';
import { refuseMoved } from './home/due.ts';
import { refuseActivity } from './guarded/activity.ts';
import { capture } from './checkpoint.ts';
import type { Ports } from './session/ports.ts';
import { sideOf } from './state/open-state.ts';
import { learned, openForReading } from './state/read-state.ts';
import { withWriter } from './session/writer.ts';

/** What was set aside after a move, and is in use again. */
export interface ReleaseResult {
  readonly name: string;
  readonly released: readonly string[];
  readonly recorded: number | null;
}

/** Puts queues and schedules back that a rehome set aside, and records that. Throws TARGET_OCCUPIED where a new one is in the way. */
export async function release(ports: Ports): Promise<ReleaseResult> {
  return withWriter(ports, 'checkpoint', async (locked) => {
    await refuseMoved(locked);
    await refuseActivity(locked, 'release');
    const note = join(locked.control, 'local', 'release');
    // What an interrupted release put back is where it belongs; that it is no longer set aside is declared by this one.
    const isRedo = await ports.files.exists(note);
    const { session } = await capture(locked, isRedo ? { declare: ['rehome'], message: 'released what was held' } : {});
    const { root, state } = session;
    const found: RelPath[] = [];
    if (state.manifest !== null) {
      const recorded = sideOf(await learned(await openForReading(session, state.manifest)));
      for await (const { path } of walkTree(recorded.pages, recorded.get)) if (path.endsWith(HELD)) found.push(path);
    }
    const back = (path: RelPath): RelPath => path.slice(0, -HELD.length) as RelPath;
    const holders = found.filter((path) => isHolder(root, path));
    const files = found.filter((path) => !holders.includes(path));
    const taken = files.find((path) => existsSync(fsPath(root, path)) && existsSync(fsPath(root, back(path))));
    if (taken !== undefined)
      throw new AgentError('TARGET_OCCUPIED', `'${showName(back(taken))}' was made anew since '${showName(taken)}' was set aside`, {
        hints: [
          {
            command: `mv ${word(showName(back(taken)))} ${word(`${showName(back(taken))}.new`)}`,
            effect: 'in the root; then release again. Nothing was changed',
          },
          { command: `rm -r ${word(showName(taken))}`, effect: 'or give the old one up' },
        ],
      });
    const sqlite = holders.length === 0 ? null : await ports.sqlite();
    if (holders.length > 0 && sqlite === null)
      throw new AgentError('REQUIREMENT_MISSING', 'rows are held in databases, and the program sqlite3 is not here', {
        hints: [{ command: 'agent release', effect: 'when the program sqlite3 is there; nothing was changed' }],
      });
    await refuseActivity(session, 'release');
    if (found.length > 0) await ports.files.replace(note, '');
    for (const path of holders) {
      await sqlite?.giveBack(join(root, back(path)), join(root, path));
      rmSync(fsPath(root, path));
    }
    for (const path of files) if (existsSync(fsPath(root, path))) renameSync(fsPath(root, path), fsPath(root, back(path)));
    await syncTree(root);
    // The holders are gone because their rows are back.
    const declare = found.length === 0 ? [] : (['rehome'] as const);
    const after = await capture(session, { declare, message: 'released what was held' });
    await ports.files.remove(note);
    return {
      name: session.name,
      released: found.map((path) => showName(back(path))),
      recorded: after.recorded ? after.session.state.seq : null,
    };
  });
}

/** Whether a file holds rows of the database beside it; else it is set aside itself. */
function isHolder(root: string, path: RelPath): boolean {
  return applicationId(root, path) === HOLDER;
}
