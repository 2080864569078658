import { linkSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import type { Threads } from '../../core/threads/job.ts';
import { explain } from '../../core/system-error.ts';
import { carryOver } from '../../install/carry.ts';
import { syncTree } from '../../install/durable.ts';
import { stageTree, type StagedTree } from '../../install/stage.ts';
import type { Host } from '../../host/home.ts';
import type { SwapPaths } from '../../install/swap.ts';
import { chainText, type Chain } from '../../ledger/chain.ts';
import { FORMAT_FILE, FORMAT_LINE, LEDGER_FILE, digestInName, kindOfFile } from '../../store/layout.ts';
import { COPY_FILE, DIGEST_FILE } from '../../store/packs/pack-jobs.ts';
import { locateIn, type StoreReader } from '../../store/reader.ts';
import { noteMoved } from '../home/due.ts';
import { progressOf } from '../session/progress.ts';
import { checkStaged } from './check-staged.ts';
import type { OpenState } from '../state/open-state.ts';
import type { Ports } from '../session/ports.ts';
import { type Session } from '../session/session.ts';
import { noteProfile, profileOfFacts } from '../session/root-profile.ts';
import type { TargetPlace } from './target.ts';
import { CONTROL } from '../session/control.ts';

/** What is staged, and where its sealed bytes come from. */
export interface StageSource {
  readonly state: OpenState;
  readonly tree: StagedTree;
  readonly target: TargetPlace;
  readonly bundle: { readonly chain: Chain };
  readonly readers: readonly StoreReader[];
  readonly host: Pick<Host, 'key'>;
}

/** Writes tree and control directory into the staging directory, checks the tree from disk, and makes both durable. */
export async function stageRoot(ports: Ports, prepared: StageSource, paths: SwapPaths): Promise<void> {
  const { state, tree, target, bundle, readers } = prepared;
  const profile = await profileOfFacts(state.facts);
  await ports.files.makeDirectory(dirname(paths.staging));
  await mkdir(paths.staging, { mode: 0o700 });
  try {
    await stageTree(tree, paths.staging, { onFiles: progressOf(ports, 'rehydrate') });
    const carried = new Set(target.old === null ? [] : carryOver(target.path, paths.staging, profile));
    const control = join(paths.staging, CONTROL);
    await stageControl(ports, { control, readers, chain: bundle.chain, old: target.old });
    await noteProfile(ports.files, control, profile);
    await noteMoved({ ports, control }, state.facts, {
      here: { root: paths.target, home: ports.home, host: prepared.host.key.publicKey },
      profile,
    });
    // The disk writes while the tree is read again; what is left then is little.
    const synced = syncTree(paths.staging);
    const checked = checkStaged(tree, { directory: paths.staging, threads: ports.threads, carried, onFiles: progressOf(ports, 'check') });
    // Whichever fails, nothing goes on in the directory that is taken away then.
    await Promise.allSettled([checked, synced]);
    await checked;
    await synced;
    await syncTree(paths.staging);
  } catch (error) {
    await ports.files.removeTree(paths.staging);
    throw error;
  }
}

/** Copies the sealed files of bundle and bases; packs of an older tree beside it are linked. */
async function stageControl(
  ports: Ports,
  {
    control,
    readers,
    chain,
    old,
  }: { readonly control: string; readonly readers: readonly StoreReader[]; readonly chain: Chain; readonly old: Session | null },
): Promise<void> {
  const { files, threads } = ports;
  const names = new Set((await Promise.all(readers.map((reader) => reader.list()))).flat().map((file) => file.name));
  const locate = locateIn(readers);
  const copies: Promise<unknown>[] = [];
  try {
    for (const name of [...names].sort()) {
      if ([null, 'script', 'ledger', 'format'].includes(kindOfFile(name))) continue;
      const path = join(control, name);
      await files.makeDirectory(dirname(path));
      const isLinked = old !== null && (await isWhole(old, { name, threads })) && link(join(old.control, name), path);
      const from = isLinked ? null : await locate(name);
      if (from === null) continue;
      const copy = threads.run(COPY_FILE, { from, to: path }, { cost: from.size });
      // Its failure is thrown below, when all have ended.
      copy.catch(() => undefined);
      copies.push(copy);
    }
  } finally {
    await Promise.allSettled(copies);
  }
  await Promise.all(copies).catch((error: unknown) => {
    throw explain(error, control);
  });
  await files.replace(join(control, LEDGER_FILE), chainText(chain.records));
  await files.replace(join(control, FORMAT_FILE), FORMAT_LINE);
}

/** Gives a file a second name; false where a control directory elsewhere lies on another file system. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EXDEV') return false;
    throw error;
  }
}

/** Whether the older tree has a file that is still what its name says; a rotten one is not taken over. */
async function isWhole({ reader }: Session, { name, threads }: { readonly name: string; readonly threads: Threads }): Promise<boolean> {
  const promised = digestInName(name);
  const place = promised === null ? null : await reader.locate(name);
  return place !== null && (await threads.run(DIGEST_FILE, place, { cost: place.size })) === promised;
}
