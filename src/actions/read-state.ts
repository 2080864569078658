import type { Digest } from '../core/digest.ts';
import { AgentError, isAgentError } from '../core/errors.ts';
import { openState, type OpenState } from './open-state.ts';
import type { Session } from './session.ts';

/** Opens a state of a root for looking at it; throws KEY_UNFIT without a key. `cached` uses the cache of its chunk index. */
export async function openForReading(session: Session, manifest: Digest, { cached = true } = {}): Promise<OpenState> {
  const { reader, state, host, ports, control } = session;
  if (host === null)
    throw new AgentError('KEY_UNFIT', 'this host has no keys', { hints: [{ command: 'agent invite', effect: 'makes them' }] });
  return openState({
    readers: [reader],
    ledger: state,
    manifest,
    identities: [host.identity],
    ...(cached ? { cache: { files: ports.files, control } } : {}),
  });
}

/** Opens a state where a key fits and it is there; else null. */
export async function openChecked(
  session: Session,
  manifest: Digest,
  options: { readonly cached?: boolean } = {},
): Promise<OpenState | null> {
  try {
    return await openForReading(session, manifest, options);
  } catch (error) {
    if (isAgentError(error) && ['KEY_UNFIT', 'BUNDLE_INCOMPLETE'].includes(error.code)) return null;
    throw error;
  }
}

/** A state whose trees and contents can be read. */
export async function learned(state: OpenState): Promise<OpenState> {
  await state.objects.main.learn();
  await state.objects.secret.learn();
  return state;
}
