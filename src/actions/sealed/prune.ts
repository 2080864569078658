import { join } from 'node:path';
import type { Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import type { Files } from '../../core/files.ts';
import type { Chain } from '../../ledger/chain.ts';
import type { GcRecord } from '../../ledger/record.ts';
import type { LedgerState } from '../../ledger/state.ts';
import { readManifest } from '../../manifest/manifest.ts';
import { Folds } from '../../store/packs/folds.ts';
import { envelopeFile, grantFile, kindOfFile, manifestFile, packFile, packListFile } from '../../store/layout.ts';
import { readPackList } from '../../store/packs/packlist.ts';
import type { StoreReader } from '../../store/reader.ts';
import { isKeyFile } from './key-files.ts';
import { statesOf } from '../state/revision.ts';

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
  {
    directory,
    reader,
    chain,
    now,
    grace,
    dryRun = false,
  }: {
    readonly directory: string;
    readonly reader: StoreReader;
    readonly chain: Chain;
    readonly now: number;
    readonly grace: number;
    readonly dryRun?: boolean;
  },
): Promise<Pruned> {
  const read = (name: string): Promise<Buffer | null> => reader.read(name);
  const needed = new Set<string>();
  for (const name of await neededBy(chain, chain.state, { read, lenient: false })) needed.add(name);
  // What that view names and is not there was removed with its time of grace before.
  for (const name of await neededBy(chain, viewBefore(chain, now - grace), { read, lenient: true })) needed.add(name);
  let removed = 0;
  let bytes = 0;
  let waiting = 0;
  for (const { name, size } of await reader.list()) {
    const kind = kindOfFile(name);
    if (kind === null || kind === 'format' || kind === 'ledger' || kind === 'script' || needed.has(name)) continue;
    // By a grant a host that took the agent over may open older secrets; the ledger does not name it.
    if (kind === 'grant' && isKeyFile(chain.state, name.slice('keys/'.length, 'keys/'.length + 16))) continue;
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

/** Clocks of hosts that an agent moves between differ by a little. */
const SKEW = 5 * 60_000;

/** Throws CLOCK_BEHIND where the clock contradicts the ledger: times of grace and of retention would be wrong. */
export function checkClock({ records }: Pick<Chain, 'records'>, now: number): void {
  const newest = records.reduce((latest, { record }) => Math.max(latest, Date.parse(record.at)), 0);
  if (newest <= now + SKEW) return;
  throw new AgentError(
    'CLOCK_BEHIND',
    `the clock says ${new Date(now).toISOString()}, and the ledger has a record of ${new Date(newest).toISOString()}`,
    {
      hints: [
        { command: 'date -u', effect: 'set the clock right, or wait; nothing was changed' },
        { command: 'agent gc --ignore-clock', effect: 'where it was wrong when the record was written, and is right now' },
      ],
    },
  );
}

/** What gc records had given up and folded before an instant. */
function viewBefore({ records, state }: Chain, instant: number): LedgerState {
  const done = records.flatMap(({ record }): GcRecord[] => (record.kind === 'gc' && Date.parse(record.at) <= instant ? [record] : []));
  return { ...state, expired: done.flatMap((one) => one.expired), folded: done.at(-1)?.folded ?? [] };
}

/**
 * Names of all files that the states of a ledger need, in the view of a state. Throws where something that says so is damaged
 * or missing: what cannot be read may need anything. `lenient` takes what is not there for gone already.
 */
async function neededBy(
  { records }: Chain,
  view: LedgerState,
  { read, lenient }: { readonly read: (name: string) => Promise<Buffer | null>; readonly lenient: boolean },
): Promise<ReadonlySet<string>> {
  const names = new Set<string>(view.folded.map(packListFile));
  for (const { id, envelope } of Object.values(view.keys.storeKeys)) names.add(envelopeFile(id)).add(grantFile(id, envelope));
  const pages = new Set<Digest>();
  // What a cut copy lacked when it was recovered is lost for good.
  const recoveredAt = records.findLast(({ record }) => record.kind === 'recover')?.record.seq ?? 0;
  for (const { manifest, seq } of statesOf({ records, state: view })) {
    const found = await readManifest(read, manifest);
    if (found === null && !lenient && seq > recoveredAt) throw missing(`manifest ${manifest.slice(0, 12)} of record ${String(seq)}`);
    if (found === null) continue;
    names.add(manifestFile(manifest));
    for (const page of found.packlists) pages.add(page);
  }
  const isGone = async (page: Digest): Promise<boolean> => lenient && (await read(packListFile(page))) === null;
  const folded: Digest[] = [];
  for (const page of view.folded) if (!(await isGone(page))) folded.push(page);
  const folds = await Folds.read(read, folded);
  for (const page of pages) {
    if (await isGone(page)) continue;
    names.add(packListFile(page));
    for (const pack of folds.resolve((await readPackList(read, page)).packs)) names.add(packFile(pack.digest));
  }
  return names;
}

function missing(what: string): AgentError {
  return new AgentError('BUNDLE_INCOMPLETE', `${what} is missing: nothing is removed where it is not known what is needed`, {
    hints: [{ command: 'agent verify', effect: 'lists all that is missing; also agent verify BUNDLE' }],
  });
}
