import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';

/** What identifies this machine and account. On Linux the id is systemd's machine id; elsewhere the host name stands in. */
export function readMachine(): {
  readonly id: string;
  readonly uid: number;
  readonly label: string;
  readonly platform: string;
  readonly node: string;
} {
  const { username, uid } = userInfo();
  return { id: machineId(), uid, label: `${username}@${hostname()}`, platform: process.platform, node: process.versions.node };
}

function machineId(): string {
  for (const path of ['/etc/machine-id', '/var/lib/dbus/machine-id']) {
    try {
      const id = readFileSync(path, 'utf8').trim();
      if (id !== '') return id;
    } catch {
      continue;
    }
  }
  return `hostname:${hostname()}`;
}
