import { copyFileSync, linkSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentError, systemCode } from '../../core/errors.ts';
import { showName } from '../../core/name.ts';
import { carryOver } from '../../install/carry.ts';
import { syncTree } from '../../install/durable.ts';
import { stageTree, type StagedTree } from '../../install/stage.ts';
import type { SwapPaths } from '../../install/swap.ts';
import { chainText, type Chain } from '../../ledger/chain.ts';
import { FORMAT_FILE, FORMAT_LINE, LEDGER_FILE, digestInName, kindOfFile } from '../../store/layout.ts';
import { digestOfFile, streamFrom, type StoreReader } from '../../store/reader.ts';
import { progressOf } from '../checkpoint.ts';
import { compareLive } from '../state/live-tree.ts';
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
}

/** Writes tree and control directory into the staging directory, checks the tree from disk, and makes both durable. */
export async function stageRoot(ports: Ports, prepared: StageSource, paths: SwapPaths): Promise<void> {
  const { state, tree, target, bundle, readers } = prepared;
  const profile = profileOfFacts(state.facts);
  await ports.files.makeDirectory(dirname(paths.staging));
  await mkdir(paths.staging, { mode: 0o700 });
  try {
    await stageTree(tree, paths.staging, { onFile: progressOf(ports, 'rehydrate') });
    const carried = new Set(target.old === null ? [] : carryOver(target.path, paths.staging, profile).map(showName));
    const control = join(paths.staging, CONTROL);
    await stageControl(ports, { control, readers, chain: bundle.chain, old: target.old });
    await noteProfile(ports.files, control, profile);
    const { changes } = await compareLive({ ports, control }, state, { root: paths.staging, profile, trustIndex: false });
    const wrong = changes.find((one) => one.path !== '.' && !carried.has(one.path));
    if (wrong !== undefined)
      throw new AgentError('TREE_DAMAGED', `'${wrong.path}' came out ${wrong.kind} on this disk; the target was not touched`);
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
  const { files } = ports;
  const names = new Set((await Promise.all(readers.map((reader) => reader.list()))).flat().map((file) => file.name));
  for (const name of [...names].sort()) {
    if ([null, 'script', 'ledger', 'format'].includes(kindOfFile(name))) continue;
    const path = join(control, name);
    if (old !== null && (await isWhole(old, name))) {
      await files.makeDirectory(dirname(path));
      try {
        linkSync(join(old.control, name), path);
      } catch (error) {
        // A control directory elsewhere may lie on another file system.
        if (systemCode(error) !== 'EXDEV') throw error;
        copyFileSync(join(old.control, name), path);
      }
      continue;
    }
    const file = await streamFrom(readers, name);
    if (file !== null) await files.replace(path, file.parts());
  }
  await files.replace(join(control, LEDGER_FILE), chainText(chain.records));
  await files.replace(join(control, FORMAT_FILE), FORMAT_LINE);
}

/** Whether the older tree has a file that is still what its name says; a rotten one is not taken over. */
async function isWhole({ reader }: Session, name: string): Promise<boolean> {
  const promised = digestInName(name);
  const file = promised === null ? null : await reader.stream(name);
  return file !== null && (await digestOfFile(file)) === promised;
}
