import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fsPath, showName, type RelPath } from '../../core/name.ts';
import { walkTree } from '../../manifest/tree.ts';
import { compileGlob } from '../../profile/glob.ts';
import type { Profile, WakeCommand } from '../../profile/profile.ts';
import { firstOf, runCommand } from '../../providers/commands.ts';
import type { HostSession } from '../session/session.ts';
import type { CheckLine } from '../state/check-lines.ts';
import { sideOf, type OpenState } from '../state/open-state.ts';

/** Milliseconds that a command may take, and to wait for a lock of a database. */
const COMMAND_LIMIT = 60_000;
const LOCK_LIMIT = 10_000;

/** What the agent's own program says of itself, and of copies of its databases. */
export async function programLine(session: HostSession, state: OpenState, { data, digest }: Profile): Promise<CheckLine> {
  const name = 'program';
  const commands = data.wake ?? [];
  if (commands.length === 0) return { name, ok: true, text: 'the profile has no command of the agent to ask' };
  if (!session.host.allowed.includes(digest))
    return { name, ok: true, text: `not asked (${commands.map(shown).join(', ')}): agent profile allow lets it be` };
  const staging = ownStaging(session);
  const asked: string[] = [];
  try {
    for (const command of commands) {
      const { fault, times } = await askedOf(session, state, { command, staging });
      if (fault !== null) return { name, ok: false, text: fault };
      if (times > 0) asked.push(shown(command));
    }
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return { name, ok: true, text: asked.length === 0 ? 'there is no file to ask it about' : `${asked.join(', ')}: well` };
}

/** A directory of this process alone; what those left that ended before their time is removed. */
function ownStaging({ control, ports: { processes } }: HostSession): string {
  const all = join(control, 'local', 'awake');
  for (const name of existsSync(all) ? readdirSync(all) : [])
    if (processes.identify(Number(name)) === null) rmSync(join(all, name), { recursive: true, force: true });
  return join(all, String(processes.self.pid));
}

function shown(command: WakeCommand): string {
  return `'${('run' in command ? command.run : command).join(' ')}'`;
}

/** What a command says is wrong, and how often it was asked. */
async function askedOf(
  session: HostSession,
  state: OpenState,
  { command, staging }: { readonly command: WakeCommand; readonly staging: string },
): Promise<{ readonly fault: string | null; readonly times: number }> {
  if (!('run' in command)) return { fault: await said(session, command), times: 1 };
  let times = 0;
  const pattern = compileGlob(command.each);
  for await (const { path, entry } of walkTree(sideOf(state).pages, sideOf(state).get)) {
    if (entry.type !== 'file' || !pattern.test(path)) continue;
    const copy = command.run.some((word) => word.includes('{copy}')) ? await copied(session, path, staging) : '';
    if (copy === null) return { fault: `'${showName(path)}' could not be copied, to be looked at`, times };
    const names = path.split('/');
    const fault = await said(
      session,
      command.run.map((word) =>
        word.replace(/\{(copy|path|\d)\}/g, (_, what: string) =>
          what === 'copy' ? copy : what === 'path' ? path : (names[Number(what) - 1] ?? ''),
        ),
      ),
    );
    times++;
    if (fault !== null) return { fault: `'${showName(path)}': ${fault}`, times };
  }
  return { fault: null, times };
}

/** What is wrong; null where the command says that all is well. */
async function said({ ports, root }: HostSession, argv: readonly string[]): Promise<string | null> {
  const { status, output } = await runCommand(argv, { cwd: root, limit: COMMAND_LIMIT, env: ports.environment });
  return status === 0 ? null : `'${argv.join(' ')}' ended with ${String(status)}: ${firstOf(output)}`;
}

/** A database as one file, whatever log lies beside it; null where there is none. */
async function copied({ ports, root }: HostSession, path: RelPath, staging: string): Promise<string | null> {
  const [sqlite, from] = [await ports.sqlite(), fsPath(root, path)];
  if (sqlite === null || typeof from !== 'string') return null;
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true, mode: 0o700 });
  const to = join(staging, 'copy.sqlite');
  return (await sqlite.copy([{ path: from, to }], LOCK_LIMIT))[0] === null ? to : null;
}
