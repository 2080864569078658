import { lstatSync } from 'node:fs';
import { fsPath, showName, type RelPath } from '../../core/name.ts';
import { spellings } from '../../install/relocate/json-text.ts';
import { sidecarsOf } from '../../manifest/sidecars.ts';
import { walkTree } from '../../manifest/tree.ts';
import { compileGlob } from '../../profile/glob.ts';
import type { Profile } from '../../profile/profile.ts';
import type { DatabaseFacts } from '../../providers/sqlite/look.ts';
import { mentionsOf } from '../home/mentions.ts';
import type { HostSession } from '../session/session.ts';
import type { CheckLine } from '../state/check-lines.ts';
import { sideOf, type OpenState } from '../state/open-state.ts';

/** No more of a text that was looked for is repeated. */
const SHOWN = 80;
/** Milliseconds to wait for a lock of a database. */
const LOCK_LIMIT = 10_000;

/** The sessions that were recorded, files or rows, and that are here; nothing where the profile does not say where they are. */
export async function sessionsLine({ ports, root }: HostSession, state: OpenState, { data }: Profile): Promise<readonly CheckLine[]> {
  const rules = (data.sessions ?? []).map((one) => ({ ...one, pattern: compileGlob(one.match) }));
  if (rules.length === 0) return [];
  let [here, gone] = [0, 0];
  for await (const { path, entry } of walkTree(sideOf(state).pages, sideOf(state).get)) {
    if (entry.type !== 'file') continue;
    const rule = rules.find(({ pattern }) => pattern.test(path));
    if (rule === undefined) continue;
    const recorded =
      rule.table === undefined
        ? 1
        : rowsIn(
            state.facts.databases?.find((one) => one.path === path),
            rule.table,
          );
    const isThere = lstatSync(fsPath(root, path), { throwIfNoEntry: false }) !== undefined;
    // Into one that is in use nothing looks: what was recorded of it stands.
    const now = rule.table === undefined || !isThere ? undefined : await rowsNow({ ports, root }, path, rule.table);
    const found = isThere ? Math.min(recorded, now ?? recorded) : 0;
    here += found;
    gone += recorded - found;
  }
  return [
    {
      name: 'sessions',
      ok: gone === 0,
      text: `${String(here)} that were recorded are here${gone === 0 ? '' : `, ${String(gone)} are gone`}`,
    },
  ];
}

async function rowsNow({ ports, root }: Pick<HostSession, 'ports' | 'root'>, path: RelPath, table: string): Promise<number | undefined> {
  const [sqlite, target] = [await ports.sqlite(), fsPath(root, path)];
  const isInUse = sidecarsOf(path).some((one) => lstatSync(fsPath(root, one), { throwIfNoEntry: false }) !== undefined);
  if (sqlite === null || typeof target !== 'string' || isInUse) return undefined;
  return rowsIn((await sqlite.facts(target, { limit: LOCK_LIMIT })) ?? undefined, table);
}

function rowsIn(facts: Pick<DatabaseFacts, 'tables'> | undefined, table: string): number {
  return facts?.tables.find((one) => one.name === table)?.rows ?? 0;
}

/** Whether a text is in the agent's memory, and where. */
export async function recallLine(session: HostSession, profile: Profile, text: string): Promise<CheckLine> {
  const { found, unsearched } = await mentionsOf(session, profile, [...new Set([text, ...spellings(text)])]);
  const [first] = found;
  const said = showName(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);
  const where = found.slice(0, 3).map(({ path, columns }) => (columns === undefined ? path : `${path} (${columns.join(', ')})`));
  return {
    name: 'recalls',
    ok: first !== undefined,
    text:
      first === undefined
        ? `'${said}' is in no file that was looked through${unsearched.length === 0 ? '' : `; not looked through: ${unsearched.slice(0, 3).join(', ')}`}`
        : `'${said}' is in ${where.join(', ')}${found.length > 3 ? ` and ${String(found.length - 3)} more` : ''}`,
  };
}
