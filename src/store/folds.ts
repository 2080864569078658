import { canonical, type Json } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { readPackList, type PackEntry, type PackListPage } from './packlist.ts';

/** A fold: these packs together took the place of those. It is stored as a pack list. */
export interface Fold extends PackListPage {
  readonly replaces: readonly Digest[];
}

/** Which packs took the place of which. */
export class Folds {
  readonly pages: readonly Fold[];
  readonly #byOld: ReadonlyMap<Digest, Fold>;

  constructor(pages: readonly Fold[] = []) {
    this.pages = pages;
    this.#byOld = new Map(pages.flatMap((page) => page.replaces.map((old) => [old, page] as const)));
  }

  /** Reads the pages that the ledger names; throws BUNDLE_INCOMPLETE or BUNDLE_DAMAGED. */
  static async read(read: (name: string) => Promise<Buffer | null>, digests: readonly Digest[]): Promise<Folds> {
    const pages = await Promise.all(digests.map((digest) => readPackList(read, digest)));
    return new Folds(pages.map((page) => ({ ...page, replaces: page.replaces ?? [] })));
  }

  /** The packs in which what these packs held lies now, each once. */
  resolve(packs: readonly PackEntry[]): readonly PackEntry[] {
    const found = new Map<Digest, PackEntry>();
    for (const pack of packs) for (const one of this.of(pack.digest) ?? [pack]) found.set(one.digest, one);
    return [...found.values()];
  }

  /** The packs that took the place of a pack; undefined where it stands. */
  of(digest: Digest): readonly PackEntry[] | undefined {
    return this.#byOld.get(digest)?.packs;
  }
}

/** Makes a fold. */
export function foldPage(packs: readonly PackEntry[], replaces: readonly Digest[]): Fold {
  const sorted = [...replaces].sort();
  const text = canonical({ format: 'perdure-packlist/1', packs, replaces: sorted } as unknown as Json);
  return { digest: digestOf(text), text, packs, replaces: sorted };
}
