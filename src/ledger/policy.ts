import type { LedgerRecord } from './record.ts';
import type { LedgerState } from './state.ts';

/** What of a record decides whether a recovery key must sign it, too. */
type Judged =
  | { readonly kind: 'keys'; readonly readers: readonly string[]; readonly recovery?: unknown }
  | { readonly kind: 'checkpoint'; readonly declared?: readonly string[] }
  | { readonly kind: 'gc'; readonly expired: readonly unknown[] }
  | { readonly kind: Exclude<LedgerRecord['kind'], 'keys' | 'checkpoint' | 'gc'> };

/** Whether a recipient of age is a hybrid one (ML-KEM-768 and X25519). */
export function isHybrid(recipient: string): boolean {
  return recipient.startsWith('age1pq1');
}

/** The recipients that a record names. */
export function recipientsOf(record: LedgerRecord): readonly string[] {
  const own = 'recipient' in record ? [record.recipient] : [];
  const recovery = 'recovery' in record ? (record.recovery ?? []).map((one) => one.recipient) : [];
  const storeKeys = 'storeKeys' in record ? record.storeKeys.map((one) => one.recipient) : [];
  return [...own, ...recovery, ...storeKeys, ...('readers' in record ? record.readers : [])];
}

/**
 * Whether a recovery key must sign a record beside the host: where the policy asks for it, and always where the recovery
 * keys themselves are replaced. An agent that was talked into something holds the host's key, and not this one.
 */
export function mustBeCosigned(state: LedgerState, record: Judged): boolean {
  const { cosigned } = state.policy;
  if (record.kind === 'keys') {
    const changed = record.readers.join() !== state.keys.readers.join();
    return (record.recovery !== undefined && state.recovery.length > 0) || (changed && cosigned.includes('keys'));
  }
  if (record.kind === 'checkpoint') return (record.declared ?? []).some((kind) => (cosigned as readonly string[]).includes(kind));
  if (record.kind === 'gc') return record.expired.length > 0 && cosigned.includes('gc');
  return record.kind === 'offer' && cosigned.includes('offer');
}
