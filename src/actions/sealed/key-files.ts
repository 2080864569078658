import type { LedgerState } from '../../ledger/state.ts';
import { keyId } from '../../store/envelope.ts';
import { kindOfFile } from '../../store/layout.ts';

/** Whether a name in `keys/` is of a store key, or of a reader whose identity lies there under a passphrase. */
export function isKeyFile({ keys }: LedgerState, id: string): boolean {
  return keys.storeKeys[id] !== undefined || keys.readers.some((reader) => keyId(reader) === id);
}

/** Whether a name in `keys/` is the identity of a reader under a passphrase, which the ledger does not name by its digest. */
export function isPassphraseFile(name: string, { keys }: LedgerState): boolean {
  return kindOfFile(name) === 'grant' && keys.readers.some((reader) => name.startsWith(`keys/${keyId(reader)}.`));
}
