import type { LedgerRecord } from '../ledger/record.ts';
import { hostLabel } from './refusal.ts';
import type { Session } from './session.ts';

/** Says who wrote a record and what it did. */
export function explainRecord(session: Pick<Session, 'host'>, record: LedgerRecord): { readonly by: string; readonly text: string } {
  return { by: hostLabel(session, record.by), text: textOf(session, record) };
}

function textOf(session: Pick<Session, 'host'>, record: LedgerRecord): string {
  switch (record.kind) {
    case 'init':
      return record.recovery.length === 0 ? 'began, without a recovery key' : 'began';
    case 'keys':
      return `store keys ${record.storeKeys.map((key) => key.id.slice(0, 8)).join(', ')}${record.readers.length === 0 ? '' : `, further readers: ${String(record.readers.length)}`}`;
    case 'checkpoint':
      return `state ${record.manifest.slice(0, 12)}${record.declared === undefined ? '' : `, declared ${record.declared.join(', ')}`}`;
    case 'fence':
      return 'nobody may act';
    case 'offer':
      return `state ${record.manifest.slice(0, 12)} to ${hostLabel(session, record.target)}`;
    case 'promote':
      return 'took over: it may act there';
    case 'decline':
      return 'gave the offer back';
    case 'resume':
      return record.asserted === undefined ? 'may act again' : `may act again, asserted: ${record.asserted}`;
  }
}
