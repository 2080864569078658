import { AgentError } from '../core/errors.ts';
import { saveHost } from '../host/home.ts';
import type { ProfileData } from '../profile/profile.ts';
import { NOT_RUN, firstOf, runCommand } from '../providers/commands.ts';
import { askingCommands } from './awake/needs.ts';
import type { Ports } from './session/ports.ts';
import { readProfile } from './session/root-profile.ts';
import { hasHost, openSession, type HostSession } from './session/session.ts';

/** Milliseconds that a profile's command may take. */
const LIMIT = 60_000;

/** What became of a profile's commands. */
export type HookOutcome = 'none' | 'run' | 'not-allowed' | 'moved';

/**
 * Runs a profile's stop or start commands in the root, one after the other and without a shell, only where this host has
 * allowed exactly this profile. Throws COMMAND_FAILED where one of them fails.
 */
export async function runHooks(session: HostSession, kind: 'stop' | 'start'): Promise<HookOutcome> {
  const profile = await readProfile(session);
  const commands = profile.data[kind];
  if (commands.length === 0) return 'none';
  if (!session.host.allowed.includes(profile.digest)) return 'not-allowed';
  for (const argv of commands) {
    const { status, output } = await runCommand(argv, { cwd: session.root, limit: LIMIT, env: session.ports.environment });
    if (status !== 0)
      throw new AgentError(
        'COMMAND_FAILED',
        `the profile's ${kind} command '${argv.join(' ')}' ${status === NOT_RUN ? 'did not run to its end' : `ended with ${String(status)}`}${output === '' ? '' : `: ${firstOf(output)}`}`,
        {
          hints: [
            { command: argv.join(' '), effect: `by hand, in '${session.root}'; then the same command again` },
            ...(kind === 'stop'
              ? [{ command: 'agent fence --no-stop', effect: 'where it is stopped already; what still writes is found all the same' }]
              : []),
          ],
        },
      );
  }
  return 'run';
}

/** Allows the commands of the profile that the root has now; another profile, or a changed one, is not allowed by it. */
export async function allowProfile(ports: Ports): Promise<{
  readonly name: string;
  readonly digest: string;
  readonly stop: ProfileData['stop'];
  readonly start: ProfileData['start'];
  readonly wake: ProfileData['stop'];
}> {
  const session = await openSession(ports);
  if (!hasHost(session))
    throw new AgentError('FOREIGN', 'this host has no keys', { hints: [{ command: 'agent invite', effect: 'makes them' }] });
  const { data, digest } = await readProfile(session);
  const { host } = session;
  if (!host.allowed.includes(digest)) await saveHost(ports.files, { ...host, allowed: [...host.allowed, digest].sort() });
  return {
    name: data.name,
    digest,
    stop: data.stop,
    start: data.start,
    wake: [...(data.wake ?? []).map((one) => ('run' in one ? one.run : one)), ...askingCommands(data)],
  };
}
