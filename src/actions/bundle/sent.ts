import { join } from 'node:path';
import { canonical, parseJson } from '../../core/canonical.ts';
import { digestOf, type Digest } from '../../core/digest.ts';
import type { PublicKey } from '../../core/ssh/key.ts';
import type { Session } from '../session/session.ts';

/**
 * The state that was packed for a host before, which the next bundle for it may build on; null where there was none. A bundle
 * that is written over the one of before builds on what that one did: it cannot be known to have arrived.
 */
export async function sentTo(
  { ports, control }: Pick<Session, 'ports' | 'control'>,
  target: PublicKey,
  output?: string,
): Promise<Digest | null> {
  const value = parseJson((await ports.files.readIfPresent(sentPath(control, target)))?.toString('utf8') ?? '');
  if (typeof value !== 'object' || value === null || !('manifest' in value)) return null;
  const again = output !== undefined && 'output' in value && value.output === output;
  return digestIn(again ? ('since' in value ? value.since : null) : value.manifest);
}

/** Remembers what was packed for a host. */
export async function noteSent(
  { ports, control }: Pick<Session, 'ports' | 'control'>,
  {
    target,
    manifest,
    output,
    since,
  }: { readonly target: PublicKey; readonly manifest: Digest; readonly output: string; readonly since: Digest | null },
): Promise<void> {
  await ports.files.replace(sentPath(control, target), canonical({ format: 'perdure-sent/1', target, manifest, output, since }));
}

function digestIn(value: unknown): Digest | null {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) ? (value as Digest) : null;
}

function sentPath(control: string, target: PublicKey): string {
  return join(control, 'local', 'sent', `${digestOf(target).slice(0, 16)}.json`);
}
