import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { word } from '../core/shell.ts';
import type { Terminal } from './terminal.ts';

interface Subject {
  readonly root: string;
  readonly name: string;
}

/** The words that start this program from a unit or a crontab: the name that other programs do not use, else its file. */
async function startWords({ env, program }: Terminal): Promise<readonly string[]> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const path = join(directory, 'perdure');
    const found = access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (directory.startsWith('/') && (await found)) return [path];
  }
  return [process.execPath, program];
}

/** A word of a command line of systemd, where a percent sign begins a specifier. */
function unitWord(text: string): string {
  const plain = text.replace(/%/g, '%%');
  return /^[\w@%+=:,./-]+$/.test(plain) ? plain : `"${plain.replace(/["\\$]/g, '\\$&')}"`;
}

/** The line of a unit that names the host directory where it is not the usual one: without it another host would run. */
function environmentLine({ env }: Terminal): string {
  const directory = env['PERDURE_HOST_DIR'];
  return directory === undefined ? '' : `Environment=${unitWord(`PERDURE_HOST_DIR=${directory}`)}\n`;
}

/** A name for the files of a unit. */
function unitName(name: string): string {
  return name.replace(/[^\w:.-]/g, '-');
}

/** A systemd unit that runs a command under the guard. @see systemd.service(5) */
export async function guardUnit(
  terminal: Terminal,
  { root, name, command }: Subject & { readonly command: readonly string[] },
): Promise<string> {
  const start = [...(await startWords(terminal)), '-C', root, 'guard', '--', ...command].map(unitWord).join(' ');
  const unit = unitName(name);
  return `# ~/.config/systemd/user/${unit}.service; then: systemctl --user daemon-reload && systemctl --user enable --now ${unit}
# (it goes on while you are not logged in after: loginctl enable-linger)
[Unit]
Description=${unit}, while this host holds it

[Service]
${environmentLine(terminal)}ExecStart=${start}
WorkingDirectory=${root.replace(/%/g, '%%')}
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
  { root, name, to }: Subject & { readonly to: string | undefined },
): Promise<string> {
  const words = [...(await startWords(terminal)), '-C', root, 'checkpoint', ...(to === undefined ? [] : ['--to', to])];
  const directory = terminal.env['PERDURE_HOST_DIR'];
  const cron = [...(directory === undefined ? [] : [`PERDURE_HOST_DIR=${word(directory)}`]), ...words.map(word)].join(' ');
  const unit = `${unitName(name)}-checkpoint`;
  return `# ~/.config/systemd/user/${unit}.service
[Unit]
Description=checkpoint of ${unitName(name)}

[Service]
Type=oneshot
${environmentLine(terminal)}ExecStart=${words.map(unitWord).join(' ')}
# Incomplete (an alarm is open) and busy are no failures of the unit; that another host holds the agent now is one.
SuccessExitStatus=3 11

# ~/.config/systemd/user/${unit}.timer; then: systemctl --user daemon-reload && systemctl --user enable --now ${unit}.timer
# (it goes on while you are not logged in after: loginctl enable-linger)
[Unit]
Description=checkpoint of ${unitName(name)} every quarter of an hour

[Timer]
OnCalendar=*:0/15
Persistent=true

[Install]
WantedBy=timers.target

# or, in crontab -e (what it prints goes by mail; nothing is printed where all is well):
# */15 * * * * ${cron.replace(/%/g, '\\%')} >/dev/null
`;
}
