import { damaged, type KeysRecord, type StoreKeyEntry } from './record.ts';
import type { KeyState } from './state.ts';

/** Adds store keys, or gives those that are there another envelope; throws LEDGER_DAMAGED where a record changes one. */
export function withStoreKeys(keys: KeyState, record: { readonly seq: number; readonly storeKeys: readonly StoreKeyEntry[] }): KeyState {
  const storeKeys = { ...keys.storeKeys };
  let { main, secret } = keys;
  for (const entry of record.storeKeys) {
    const old = storeKeys[entry.id];
    if (old !== undefined && (old.recipient !== entry.recipient || old.use !== entry.use))
      throw damaged(`record ${String(record.seq)} changes store key ${entry.id}`);
    storeKeys[entry.id] = entry;
    if (old !== undefined) continue;
    if (entry.use === 'main') main = entry.id;
    else secret = entry.id;
  }
  return { ...keys, storeKeys, main, secret };
}

/**
 * The keys after a `keys` record. They are stale, so that the next checkpoint opens new ones, where a key was sealed to
 * somebody who is no reader (the target of an offer), or where somebody who could read is to read no more.
 */
export function keysAfter(keys: KeyState, record: KeysRecord): KeyState {
  const opened = record.storeKeys.some((entry) => keys.storeKeys[entry.id] === undefined);
  const sealedAgain = record.storeKeys.some((entry) => keys.storeKeys[entry.id] !== undefined);
  const removed = keys.readers.some((reader) => !record.readers.includes(reader)) || record.recovery !== undefined;
  const added = record.readers.some((reader) => !keys.readers.includes(reader));
  const stale = opened ? false : keys.stale || removed || (sealedAgain && !added);
  return { ...withStoreKeys(keys, record), readers: record.readers, stale };
}
