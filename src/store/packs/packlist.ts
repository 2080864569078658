import { canonical, parseJson, type Json } from '../../core/canonical.ts';
import { digestOf, type Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import { packlistValid } from '../../core/generated/validators.js';
import { packListFile } from '../layout.ts';

/** A pack as a list names it: digest and size of its ciphertext, and the store key that opens it. */
export interface PackEntry {
  readonly digest: Digest;
  readonly size: number;
  readonly key: string;
}

/** A page of packs; manifests share pages. */
export interface PackListPage {
  readonly digest: Digest;
  readonly text: string;
  readonly packs: readonly PackEntry[];
  /** In a fold: the packs whose place these took. */
  readonly replaces?: readonly Digest[];
}

/** So many pages of one size class become one page of the next, so that a long history stays short to name. */
const FANOUT = 16;

/** Makes a page. */
export function packListPage(packs: readonly PackEntry[]): PackListPage {
  const text = canonical({ format: 'perdure-packlist/1', packs } as unknown as Json);
  return { digest: digestOf(text), text, packs };
}

/** Adds packs to the pages of the state before: one more page, then merges as of a counter with base 16. */
export function appendPacks(pages: readonly PackListPage[], packs: readonly PackEntry[]): readonly PackListPage[] {
  if (packs.length === 0) return pages;
  let list = [...pages, packListPage(packs)];
  for (;;) {
    const last = list.at(-1);
    if (last === undefined) return list;
    const level = levelOf(last);
    const tail = list.slice(-FANOUT);
    if (tail.length < FANOUT || tail.some((page) => levelOf(page) !== level)) return list;
    list = [...list.slice(0, -FANOUT), packListPage(tail.flatMap((page) => page.packs))];
  }
}

function levelOf(page: PackListPage): number {
  return Math.floor(Math.log(page.packs.length) / Math.log(FANOUT) + 1e-9);
}

/** Reads a page; throws BUNDLE_DAMAGED where it is missing or altered. */
export async function readPackList(read: (name: string) => Promise<Buffer | null>, digest: Digest): Promise<PackListPage> {
  const bytes = await read(packListFile(digest));
  if (bytes === null) throw new AgentError('BUNDLE_INCOMPLETE', `pack list ${digest.slice(0, 12)} is missing`);
  const value = parseJson(bytes.toString('utf8'));
  if (digestOf(bytes) !== digest || !packlistValid(value))
    throw new AgentError('BUNDLE_DAMAGED', `pack list ${digest.slice(0, 12)} is damaged`);
  return { ...(value as Pick<PackListPage, 'packs' | 'replaces'>), digest, text: bytes.toString('utf8') };
}
