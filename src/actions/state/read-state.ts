import { join } from 'node:path';
import type { Digest } from '../../core/digest.ts';
import { AgentError, isAgentError } from '../../core/errors.ts';
import { decodeFacts, encodeFacts, type Facts } from '../../manifest/facts.ts';
import { openState, type OpenState } from './open-state.ts';
import type { Session } from '../session/session.ts';
import { identitiesOf } from '../../host/home.ts';

/** Opens a state of a root for looking at it; throws KEY_UNFIT without a key. `cached` uses the cache of its chunk index. */
export async function openForReading(session: Session, manifest: Digest, { cached = true } = {}): Promise<OpenState> {
  const { reader, state, host, ports, control } = session;
  if (host === null)
    throw new AgentError('KEY_UNFIT', 'this host has no keys', { hints: [{ command: 'agent invite', effect: 'makes them' }] });
  return openState({
    readers: [reader],
    ledger: state,
    manifest,
    identities: identitiesOf(host),
    threads: ports.threads,
    ...(cached ? { cache: { files: ports.files, control } } : {}),
  });
}

/** Opens a state where a key fits and it is there; else null. */
async function openChecked(session: Session, manifest: Digest, options: { readonly cached?: boolean } = {}): Promise<OpenState | null> {
  try {
    return await openForReading(session, manifest, options);
  } catch (error) {
    if (isAgentError(error) && ['KEY_UNFIT', 'BUNDLE_INCOMPLETE'].includes(error.code)) return null;
    throw error;
  }
}

/** Where the facts of a state are kept in clear, beside the tree that they are about; never travels. */
export function factsPath({ control }: Pick<Session, 'control'>, manifest: Digest): string {
  return join(control, 'local', 'facts', `${manifest}.json`);
}

/** Keeps the facts of a state at hand, so that looking at it opens no pack. */
export async function keepFacts(session: Pick<Session, 'ports' | 'control'>, manifest: Digest, facts: Facts): Promise<void> {
  await session.ports.files.replace(factsPath(session, manifest), encodeFacts(facts));
}

/** The facts of a state as they are kept at hand, or null. */
export async function keptFacts(session: Pick<Session, 'ports' | 'control'>, manifest: Digest): Promise<Facts | null> {
  const kept = await session.ports.files.readIfPresent(factsPath(session, manifest));
  return kept === null ? null : decodeFacts(kept);
}

/** The facts of a state: as kept, or from its pack where a key fits; else null. For looking only; a check opens the pack. */
export async function readFacts(session: Session, manifest: Digest): Promise<Facts | null> {
  return (await keptFacts(session, manifest)) ?? (await openChecked(session, manifest, { cached: false }))?.facts ?? null;
}

/** A state whose trees and contents can be read. */
export async function learned(state: OpenState): Promise<OpenState> {
  await state.objects.main.learn();
  await state.objects.secret.learn();
  return state;
}
