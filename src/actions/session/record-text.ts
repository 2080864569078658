import type { LedgerRecord } from '../../ledger/record.ts';
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
      return [
        ...(record.storeKeys.length === 0 ? [] : [`store keys ${record.storeKeys.map((key) => key.id.slice(0, 8)).join(', ')}`]),
        ...(record.readers.length === 0 ? [] : [`further readers: ${String(record.readers.length)}`]),
        ...(record.recovery === undefined ? [] : ['the recovery key was replaced']),
      ].join(', ');
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
    case 'revoke':
      return 'the offer is taken back; a person says that its target never took it up';
    case 'recover':
      return `brought back to ${hostLabel(session, record.holder)}; a person says that the host before is lost${record.dropped.length === 0 ? '' : `, and gives up what came after record ${String(record.seq - 1)}`}`;
    case 'restore':
      return `state ${record.manifest.slice(0, 12)}, gone back to ${record.of.slice(0, 12)}`;
    case 'gc':
      return record.expired.length === 0
        ? 'packs folded'
        : `states given up: ${record.expired.map(([from, to]) => (from === to ? String(from) : `${String(from)}–${String(to)}`)).join(', ')}`;
  }
}
