import { join } from 'node:path';
import { canonical, parseJson } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import type { PublicKey } from '../core/ssh/key.ts';
import type { Session } from './session.ts';

/** The state that was packed for a host before, which the next bundle for it may build on; null where there was none. */
export async function sentTo({ ports, control }: Pick<Session, 'ports' | 'control'>, target: PublicKey): Promise<Digest | null> {
  const value = parseJson((await ports.files.readIfPresent(sentPath(control, target)))?.toString('utf8') ?? '');
  if (typeof value !== 'object' || value === null || !('manifest' in value) || typeof value.manifest !== 'string') return null;
  return /^[0-9a-f]{64}$/.test(value.manifest) ? (value.manifest as Digest) : null;
}

/** Remembers what was packed for a host. */
export async function noteSent(
  { ports, control }: Pick<Session, 'ports' | 'control'>,
  { target, manifest }: { readonly target: PublicKey; readonly manifest: Digest },
): Promise<void> {
  await ports.files.replace(sentPath(control, target), canonical({ format: 'perdure-sent/1', target, manifest }));
}

function sentPath(control: string, target: PublicKey): string {
  return join(control, 'local', 'sent', `${digestOf(target).slice(0, 16)}.json`);
}
