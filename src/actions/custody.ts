import { resolve } from 'node:path';
import { AgentError } from '../core/errors.ts';
import type { RecoveryKey } from '../ledger/record.ts';
import { checkCustodian, custodianKey, openCustodian, type CustodianSource } from './custodian/custodian.ts';
import { changeCustody, type KeyResult } from './keys.ts';
import { checkKitPlace } from './custodian/kit-place.ts';
import { assertMay } from './session/may.ts';
import type { Ports } from './session/ports.ts';
import { newRecoveryKit, readKit } from './custodian/recovery-kit.ts';
import { openSession } from './session/session.ts';

/** Who is to keep the recovery key: a kit that is to be written, or a key that somebody has. */
export type NewCustodian = { readonly kit: string } | { readonly key: string; readonly recipient: string };

/** Replaces the recovery key. The new kit is on disk before the record that names it; one without a record is nobody's. */
export async function custodyChange(
  ports: Ports,
  { old, to }: { readonly old: CustodianSource; readonly to: NewCustodian },
): Promise<KeyResult> {
  const session = assertMay(await openSession(ports), 'keys');
  const custodian = await openCustodian(ports, old);
  if (custodian === null && session.state.recovery.length > 0)
    throw new AgentError('COSIGNATURE_MISSING', `the recovery key of '${session.name}' must sign its own replacement`, {
      hints: [{ command: 'agent keys custody --kit OLD --new-kit FILE', effect: 'OLD is the kit that there is; nothing was changed' }],
    });
  if (custodian !== null) checkCustodian(session.state, custodian, session.name);
  const recovery =
    'kit' in to
      ? await kitAt(ports, { path: to.kit, root: session.root, name: session.name, hybrid: session.state.hybrid })
      : await custodianKey(ports, to);
  return changeCustody(ports, { recovery, custodian: session.state.recovery.length === 0 ? undefined : (custodian ?? undefined) });
}

/** Writes a new kit; the one that an interrupted command wrote is taken up. */
async function kitAt(
  ports: Ports,
  { path, root, name, hybrid }: { readonly path: string; readonly root: string; readonly name: string; readonly hybrid: boolean },
): Promise<RecoveryKey> {
  const kit = resolve(ports.cwd, path);
  await checkKitPlace(ports, { kit, directory: root });
  const made = await newRecoveryKit(name, { hybrid });
  if (await ports.files.create(kit, made.text)) return made.key;
  // One that an interrupted command of this agent wrote says whose it is.
  const text = (await ports.files.readIfPresent(kit))?.toString('utf8') ?? '';
  const there = text.includes(`# Recovery kit of the agent '${name}'.`) ? await readKit(ports.files, kit) : null;
  if (there !== null) return there;
  throw new AgentError('KIT_EXISTS', `'${kit}' exists; a kit is never overwritten`, {
    hints: [{ command: 'agent keys custody --kit OLD --new-kit OTHER-FILE', effect: 'nothing was changed' }],
  });
}
