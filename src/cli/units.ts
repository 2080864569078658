import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Terminal } from './terminal.ts';

/** How to start this program from a unit or a crontab: by the name that other programs do not use, else by its file. */
async function startCommand({ env, program }: Terminal): Promise<string> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, 'perdure');
    if (
      directory.startsWith('/') &&
      (await access(path, constants.X_OK).then(
        () => true,
        () => false,
      ))
    )
      return path;
  }
  return `${word(process.execPath)} ${word(program)}`;
}

/** A word of a command line of systemd or a shell. */
function word(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text.replace(/["\\$`]/g, '\\$&')}"`;
}

/** A systemd unit that runs a command under the guard. @see systemd.service(5) */
export async function guardUnit(
  terminal: Terminal,
  { root, name, command }: { readonly root: string; readonly name: string; readonly command: readonly string[] },
): Promise<string> {
  return `# ~/.config/systemd/user/${name}.service; then: systemctl --user daemon-reload && systemctl --user enable --now ${name}
[Unit]
Description=${name}, while this host holds it

[Service]
ExecStart=${await startCommand(terminal)} -C ${word(root)} guard -- ${command.map(word).join(' ')}
WorkingDirectory=${root}
# The guard ends all that it started; a host that may not act any more is no failure to try again.
KillMode=mixed
TimeoutStopSec=30
Restart=on-failure
RestartPreventExitStatus=14 15

[Install]
WantedBy=default.target
`;
}

/** A systemd service with its timer, and the line for cron that does the same. @see systemd.timer(5), crontab(5) */
export async function checkpointTimer(
  terminal: Terminal,
  { root, name, to }: { readonly root: string; readonly name: string; readonly to: string | undefined },
): Promise<string> {
  const line = `${await startCommand(terminal)} -C ${word(root)} checkpoint${to === undefined ? '' : ` --to ${word(to)}`}`;
  return `# ~/.config/systemd/user/${name}-checkpoint.service
[Unit]
Description=checkpoint of ${name}

[Service]
Type=oneshot
ExecStart=${line}
# Incomplete (an alarm is open), busy, and held by another host are no failures of the unit; the journal has the line.
SuccessExitStatus=3 11 14

# ~/.config/systemd/user/${name}-checkpoint.timer; then: systemctl --user daemon-reload && systemctl --user enable --now ${name}-checkpoint.timer
[Unit]
Description=checkpoint of ${name} every quarter of an hour

[Timer]
OnCalendar=*:0/15
Persistent=true

[Install]
WantedBy=timers.target

# or, in crontab -e (what it prints goes by mail; nothing is printed where all is well):
# */15 * * * * ${line.replace(/%/g, '\\%')} >/dev/null
`;
}
