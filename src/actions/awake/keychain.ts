import type { Profile } from '../../profile/profile.ts';
import { isOnPath, runCommand } from '../../providers/commands.ts';
import { outsideOf, type Outside } from '../session/outside.ts';
import type { Ports } from '../session/ports.ts';

/** The program of macOS that reads the keychain, and milliseconds that it may take. */
const KEYCHAIN = 'security';
const LIMIT = 10_000;

/** Whether the keychain of this account has an item of this name; its content is not asked for. */
export async function isInKeychain({ environment }: Pick<Ports, 'environment'>, name: string): Promise<boolean> {
  if (!isOnPath(KEYCHAIN, environment['PATH'])) return false;
  return (await runCommand([KEYCHAIN, 'find-generic-password', '-s', name], { cwd: '/', limit: LIMIT, env: environment })).status === 0;
}

/** What lies outside of a root and belongs to the agent, items of the keychain too. */
export async function elsewhereOf(ports: Ports, root: string, profile: Profile): Promise<readonly Outside[]> {
  const items: Outside[] = [];
  for (const one of profile.data.requires) {
    if (!('keychain' in one) || !(await isInKeychain(ports, one.keychain))) continue;
    const name = `the keychain's '${one.keychain}'`;
    items.push({ name, path: name, class: 'secret', about: 'a credential of this account', as: null, captured: false });
  }
  return [...(await outsideOf(ports, root, profile)), ...items];
}
