import { lstatSync } from 'node:fs';
import { fsPath, showName } from '../../core/name.ts';
import { spellings } from '../../install/relocate/json-text.ts';
import { walkTree } from '../../manifest/tree.ts';
import { compileGlob } from '../../profile/glob.ts';
import type { Profile } from '../../profile/profile.ts';
import type { DatabaseFacts } from '../../providers/sqlite/look.ts';
import type { DatabasesNow } from './databases.ts';
import { mentionsOf } from '../home/mentions.ts';
import type { HostSession } from '../session/session.ts';
import type { CheckLine } from '../state/check-lines.ts';
import { sideOf, type OpenState } from '../state/open-state.ts';

/** No more of a text that was looked for is repeated. */
const SHOWN = 80;

/** The sessions that were recorded, files or rows, and that are here; nothing where the profile does not say where they are. */
export async function sessionsLine(
  { root }: HostSession,
  state: OpenState,
  { profile: { data }, databases }: { readonly profile: Profile; readonly databases: DatabasesNow | null },
): Promise<readonly CheckLine[]> {
  const rules = (data.sessions ?? []).map((one) => ({ ...one, pattern: compileGlob(one.match) }));
  if (rules.length === 0) return [];
  let [here, gone] = [0, 0];
  for await (const { path, entry } of walkTree(sideOf(state).pages, sideOf(state).get)) {
    if (entry.type !== 'file') continue;
    const rule = rules.find(({ pattern }) => pattern.test(path));
    if (rule === undefined) continue;
    const { table } = rule;
    const record = state.facts.databases?.find((one) => one.path === path);
    const recorded = table === undefined ? 1 : rowsIn(record, table);
    const isThere = lstatSync(fsPath(root, path), { throwIfNoEntry: false }) !== undefined;
    const now = databases?.get(path);
    // Into one that is in use nothing looks: what was recorded of it stands.
    const left = table === undefined || now === undefined || now === 'in use' ? recorded : rowsIn(now ?? undefined, table);
    const found = isThere ? Math.min(recorded, left) : 0;
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
