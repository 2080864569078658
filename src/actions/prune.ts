import { join } from 'node:path';
import type { Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import type { Chain } from '../ledger/chain.ts';
import type { GcRecord } from '../ledger/record.ts';
import type { LedgerState } from '../ledger/state.ts';
import { readManifest } from '../manifest/manifest.ts';
import { Folds } from '../store/folds.ts';
import { envelopeFile, grantFile, kindOfFile, manifestFile, packFile, packListFile } from '../store/layout.ts';
import { readPackList } from '../store/packlist.ts';
import type { StoreReader } from '../store/reader.ts';
import { isPassphraseFile } from './key-files.ts';
import { statesOf } from './revision.ts';

/** What was removed of a store. */
export interface Pruned {
  readonly files: number;
  readonly bytes: number;
  /** Bytes that nothing needs any more, and that stay for the time of grace. */
  readonly waiting: number;
}

/**
 * Removes the files of a store that nothing needs. A file goes only where it was needed by nothing for the whole time of
 * grace: the ledger is read as if the gc records of that time were not there, so that whoever copies the store meanwhile
 * (rsync, a pack, a reader) finds what the ledger that it began with names. What was written within that time stays, too.
 */
export async function prune(
  files: Files,
  { directory, reader, chain }: { readonly directory: string; readonly reader: StoreReader; readonly chain: Chain },
  { now, grace, dryRun = false }: { readonly now: number; readonly grace: number; readonly dryRun?: boolean },
): Promise<Pruned> {
  const read = (name: string): Promise<Buffer | null> => reader.read(name);
  const needed = new Set<string>();
  for (const view of [chain.state, viewBefore(chain, now - grace)]) for (const name of await neededBy(chain, view, read)) needed.add(name);
  let removed = 0;
  let bytes = 0;
  let waiting = 0;
  for (const { name, size } of await reader.list()) {
    const kind = kindOfFile(name);
    if (kind === null || kind === 'format' || kind === 'ledger' || kind === 'script' || needed.has(name)) continue;
    if (isPassphraseFile(name, chain.state)) continue;
    const path = join(directory, name);
    if (((await files.modified(path)) ?? now) > now - grace) {
      waiting += size;
      continue;
    }
    removed++;
    bytes += size;
    if (!dryRun) await files.remove(path);
  }
  return { files: removed, bytes, waiting };
}

/** Throws CLOCK_BEHIND where the clock contradicts the ledger: times of grace and of retention would be wrong. */
export function checkClock({ records }: Pick<Chain, 'records'>, now: number): void {
  const newest = Math.max(...records.map(({ record }) => Date.parse(record.at)));
  if (newest <= now) return;
  throw new AgentError(
    'CLOCK_BEHIND',
    `the clock says ${new Date(now).toISOString()}, and the ledger has a record of ${new Date(newest).toISOString()}`,
    { hints: [{ command: 'date -u', effect: 'set the clock right, or wait; nothing was changed' }] },
  );
}

/** What gc records had given up and folded before an instant. */
function viewBefore({ records, state }: Chain, instant: number): LedgerState {
  const done = records.flatMap(({ record }): GcRecord[] => (record.kind === 'gc' && Date.parse(record.at) <= instant ? [record] : []));
  return { ...state, expired: done.flatMap((one) => one.expired), folded: done.at(-1)?.folded ?? [] };
}

/** Names of all files that the states of a ledger need, in the view of a state. What is not there names nothing. */
async function neededBy(chain: Chain, view: LedgerState, read: (name: string) => Promise<Buffer | null>): Promise<ReadonlySet<string>> {
  const names = new Set<string>(view.folded.map(packListFile));
  for (const { id, envelope } of Object.values(view.keys.storeKeys)) names.add(envelopeFile(id)).add(grantFile(id, envelope));
  const pages = new Set<Digest>();
  for (const { manifest } of statesOf({ records: chain.records, state: view })) {
    const found = await readManifest(read, manifest);
    if (found === null) continue;
    names.add(manifestFile(manifest));
    for (const page of found.packlists) pages.add(page);
  }
  const folds = await Folds.read(read, view.folded).catch(() => new Folds());
  for (const page of pages) {
    names.add(packListFile(page));
    const bytes = await readPackList(read, page).catch(() => null);
    for (const pack of folds.resolve(bytes?.packs ?? [])) names.add(packFile(pack.digest));
  }
  return names;
}
