import { outsideRoots } from '../../manifest/facts.ts';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import type { Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import type { Threads } from '../../core/threads/job.ts';
import type { StagePlan, StagedTree } from '../../install/stage.ts';
import { planStage } from '../../install/stage.ts';
import type { GetChunk } from '../../manifest/tree.ts';
import { compareSeen, seenOf } from '../../ledger/seen.ts';
import type { StoreReader } from '../../store/reader.ts';
import { withBundle, type Bundle, type Input } from './bundle.ts';
import { checkSealed, openLearned, pathLimit } from '../state/check-store.ts';
import { mainRoot, type OpenState } from '../state/open-state.ts';
import type { Ports } from '../session/ports.ts';
import { word } from '../../core/shell.ts';

/** Opens several bundles, one within the other, and runs `work` with all of them. */
export async function withBundles<T>(
  ports: Ports,
  { bundles: paths, input }: { readonly bundles: readonly string[]; readonly input: Input },
  work: (bundles: readonly Bundle[]) => Promise<T>,
): Promise<T> {
  const open = async (opened: readonly Bundle[]): Promise<T> => {
    const path = paths[opened.length];
    if (path === undefined) return work(opened);
    return withBundle(ports, { path, input }, (bundle) => open([...opened, bundle]));
  };
  return open([]);
}

/** The bundle whose ledger has all that the others' have. Throws BUNDLE_FOREIGN, or FORKED where there is none. */
export function newestBundle(bundles: readonly Bundle[]): Bundle {
  const [first] = bundles;
  if (first === undefined)
    throw new AgentError('USAGE_WRONG', 'no bundle is named', { hints: [{ command: 'agent rehydrate BUNDLE DIR' }] });
  const foreign = bundles.find((one) => one.chain.state.agent !== first.chain.state.agent);
  if (foreign !== undefined)
    throw new AgentError('BUNDLE_FOREIGN', `'${foreign.reader.name}' is of another agent than '${first.reader.name}'`, {
      hints: [{ command: `agent verify ${word(foreign.reader.name)}`, effect: 'shows whose it is; nothing was changed' }],
    });
  // The longest is not always the newest: a recover may outrank it.
  const newest = bundles.find(({ chain }) => bundles.every((other) => compareSeen(chain, seenOf(other.chain.state)) === 'contained'));
  if (newest !== undefined) return newest;
  throw new AgentError('FORKED', `${bundles.map(({ reader }) => `'${reader.name}'`).join(' and ')} are branches of one agent`, {
    hints: [{ command: 'agent recover BRANCH DIR --kit FILE', effect: 'keeps the branch that you name; the other one never acts again' }],
  });
}

/** The newest complete state of a bundle, opened and checked, ready to be staged. */
export interface OpenedBundle {
  readonly seq: number;
  readonly at: string;
  readonly state: OpenState;
  readonly tree: StagedTree;
  readonly plan: StagePlan;
  readonly readers: readonly StoreReader[];
}

/**
 * Checks a bundle with its bases, byte for byte, and opens its newest complete state; `deep` checks each chunk of its packs, too,
 * for whoever writes no tree that is checked from the disk. Throws where it is not whole.
 */
export async function openBundle(
  bundle: Bundle,
  {
    bases,
    identities,
    threads,
    deep,
  }: { readonly bases: readonly StoreReader[]; readonly identities: readonly string[]; readonly threads: Threads; readonly deep: boolean },
): Promise<OpenedBundle> {
  const { reader, chain } = bundle;
  const sealed = await checkSealed(reader, chain, { bases, threads });
  const bad = sealed.findings.find((one) => one.code !== 'BUNDLE_INCOMPLETE');
  if (bad?.code === 'BASE_NEEDED')
    throw new AgentError('BUNDLE_INCOMPLETE', `'${reader.name}': ${bad.subject}, and it is not here`, {
      hints: [
        {
          command: `agent rehydrate BASE ${word(reader.name)} DIR`,
          effect: 'BASE is the bundle that was sent before, or the tree that the agent had here',
        },
        { command: 'agent pack --full -o FILE', effect: 'on the source: a bundle that needs no other; nothing was changed' },
      ],
    });
  if (bad !== undefined || sealed.newest === null)
    throw new AgentError(
      (bad?.code ?? 'BUNDLE_DAMAGED') as AgentError['code'],
      `'${reader.name}': ${bad?.subject ?? 'it holds no checkpoint'}`,
      { hints: [{ command: 'agent verify BUNDLE', effect: 'lists all; nothing was changed' }] },
    );
  const readers = [reader, ...bases];
  const options = { readers, ledger: chain.state, manifest: sealed.newest.manifest, identities, threads };
  const state = await openLearned(options, { deep });
  const { sheet } = state;
  const tree: StagedTree = {
    root: mainRoot(state.facts),
    get: keptPages((digest) => state.objects.main.chunk(digest)),
    packs: { source: state.objects.main, threads },
    secrets: sheet === null ? null : { sheet, get: (digest) => state.objects.secret.chunk(digest) },
  };
  const complete = { limit: pathLimit(state), has: (digest: Digest): boolean => state.objects.main.index.has(digest) };
  // What lies outside of the root is put in place later; that it is there is found out now.
  for (const root of outsideRoots(state.facts)) await planStage({ ...tree, root, secrets: null }, complete);
  const plan = await planStage(tree, complete);
  return { seq: sealed.newest.seq, at: sealed.newest.at, state, tree, plan, readers };
}

/** Bytes of pages that are kept, compressed: those of some hundred thousand files. */
const PAGES = 16 * 1024 * 1024;

/** Keeps the pages of a tree, which is walked to plan it, to write it and to check it; the first to come stay. */
function keptPages(get: GetChunk): GetChunk {
  const kept = new Map<Digest, Buffer>();
  let room = PAGES;
  return async (digest) => {
    const page = kept.get(digest);
    if (page !== undefined) return brotliDecompressSync(page);
    const bytes = await get(digest);
    const small = room > 0 ? brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }) : null;
    if (small !== null) {
      kept.set(digest, small);
      room -= small.length;
    }
    return bytes;
  };
}
