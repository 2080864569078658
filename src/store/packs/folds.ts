import { canonical, type Json } from '../../core/canonical.ts';
import { digestOf, type Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import { readPackList, type PackEntry, type PackListPage } from './packlist.ts';

/** A fold: these packs together took the place of those. It is stored as a pack list. */
interface Fold {
  readonly packs: readonly PackEntry[];
  readonly replaces: readonly Digest[];
}

/** All folds of an agent together name at most so many packs; more are hostile. */
const LIMIT = 4_000_000;

/** Which packs took the place of which. */
export class Folds {
  readonly #byOld = new Map<Digest, Fold>();

  constructor(folds: readonly Fold[] = []) {
    for (const fold of folds) for (const old of fold.replaces) this.#byOld.set(old, fold);
  }

  /** Reads the pages that the ledger names, one after the other; throws BUNDLE_INCOMPLETE or BUNDLE_DAMAGED. */
  static async read(read: (name: string) => Promise<Buffer | null>, digests: readonly Digest[]): Promise<Folds> {
    const folds: Fold[] = [];
    let named = 0;
    for (const digest of digests) {
      const { packs, replaces = [] } = await readPackList(read, digest);
      named += packs.length + replaces.length;
      if (named > LIMIT) throw new AgentError('BUNDLE_DAMAGED', 'the folds of the ledger name more packs than any agent has');
      folds.push({ packs, replaces });
    }
    return new Folds(folds);
  }

  /** The packs in which what these packs held lies now, each once. A fold may have been folded again. */
  resolve(packs: readonly PackEntry[]): readonly PackEntry[] {
    const found = new Map<Digest, PackEntry>();
    const opened = new Set<Fold>();
    const left = [...packs].reverse();
    for (let pack = left.pop(); pack !== undefined; pack = left.pop()) {
      const fold = this.#byOld.get(pack.digest);
      if (fold === undefined) found.set(pack.digest, pack);
      else if (!opened.has(fold)) {
        opened.add(fold);
        left.push(...[...fold.packs].reverse());
      }
    }
    return [...found.values()];
  }

  /** The packs in which what a pack held lies now; undefined where it stands. */
  of(digest: Digest): readonly PackEntry[] | undefined {
    const fold = this.#byOld.get(digest);
    return fold === undefined ? undefined : this.resolve(fold.packs);
  }
}

/** Makes the page of a fold. */
export function foldPage(packs: readonly PackEntry[], replaces: readonly Digest[]): PackListPage {
  const sorted = [...replaces].sort();
  const text = canonical({ format: 'perdure-packlist/1', packs, replaces: sorted } as unknown as Json);
  return { digest: digestOf(text), text, packs, replaces: sorted };
}
