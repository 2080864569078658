import type { StagedTree } from '../../install/stage.ts';
import type { TreeSide } from '../../manifest/compare.ts';
import type { RecordedRoot } from '../../manifest/facts.ts';
import { mainRoot, type OpenState } from './open-state.ts';

/** A tree of a state, or a part of one, ready to be staged: that of the root, with its secrets, where none is given. */
export function treeOf(state: OpenState, side: TreeSide, root: RecordedRoot = mainRoot(state.facts)): StagedTree {
  const { sheet } = state;
  return {
    root: { ...root, pages: side.pages },
    get: side.get,
    secrets: sheet === null || root.name !== 'main' ? null : { sheet, get: (digest) => state.objects.secret.chunk(digest) },
  };
}
