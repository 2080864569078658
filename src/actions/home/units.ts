import { basename, join } from 'node:path';
import { canonical, parseJson } from '../../core/canonical.ts';
import { AgentError } from '../../core/errors.ts';
import type { Profile } from '../../profile/profile.ts';
import { runCommand } from '../../providers/commands.ts';
import { outsideOf } from '../session/outside.ts';
import type { HostSession } from '../session/session.ts';

/** Units of this host by which the agent is started. */
export interface Units {
  /** Those of systemd that were enabled, and are not any more. */
  readonly disabled: readonly string[];
  /** Paths of those that start it still: this host did not allow the profile's commands, or they are not systemd's. */
  readonly left: readonly string[];
}

const LIMIT = 30_000;

/**
 * Disables and stops the units that the profile knows, where this host allowed its commands, and sees that they are. What was
 * disabled is noted first, so that a resume puts it back. Throws COMMAND_FAILED where one starts it still.
 */
export async function disableUnits(session: HostSession, profile: Profile): Promise<Units> {
  const paths = (await outsideOf(session.ports, session.root, profile)).map(({ path }) => path).filter((path) => UNIT.test(path));
  if (!session.host.allowed.includes(profile.digest)) return { disabled: [], left: paths };
  const enabled: string[] = [];
  for (const path of paths.filter((one) => !one.endsWith('.plist')))
    if ((await systemctl(['is-enabled', basename(path)])).output === 'enabled') enabled.push(basename(path));
  if (enabled.length > 0) await unitNote(session).write([...new Set([...(await unitNote(session).read()), ...enabled])].sort());
  for (const unit of enabled) {
    await systemctl(['disable', '--now', unit]);
    const [isEnabled, isActive] = [await systemctl(['is-enabled', unit]), await systemctl(['is-active', unit])];
    if (isEnabled.output === 'enabled' || isActive.output === 'active')
      throw new AgentError('COMMAND_FAILED', `the unit '${unit}' would start the agent here still`, {
        hints: [{ command: `systemctl --user disable --now ${unit}`, effect: 'by hand; then the same command again' }],
      });
  }
  return { disabled: enabled, left: paths.filter((path) => path.endsWith('.plist')) };
}

/** Enables and starts the units again that a fence disabled; gives those that it could. */
export async function enableUnits(session: HostSession): Promise<readonly string[]> {
  const note = unitNote(session);
  const units = await note.read();
  const enabled: string[] = [];
  for (const unit of units) if ((await systemctl(['enable', '--now', unit])).status === 0) enabled.push(unit);
  if (units.length > 0) await note.write(units.filter((unit) => !enabled.includes(unit)));
  return enabled;
}

const UNIT = /\.(service|timer|plist)$/;

async function systemctl(args: readonly string[]): Promise<{ readonly status: number; readonly output: string }> {
  const { status, output } = await runCommand(['systemctl', '--user', ...args], { cwd: '/', limit: LIMIT });
  return { status, output: output.trim() };
}

/** The units that a fence disabled on this host; never travels. */
function unitNote({ ports: { files }, control }: Pick<HostSession, 'ports' | 'control'>): {
  readonly read: () => Promise<readonly string[]>;
  readonly write: (units: readonly string[]) => Promise<void>;
} {
  const path = join(control, 'local', 'units');
  return {
    async read() {
      const value = parseJson((await files.readIfPresent(path))?.toString('utf8') ?? '[]');
      return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
    },
    write: (units) => (units.length === 0 ? files.remove(path) : files.replace(path, canonical([...units]))),
  };
}
