import { join } from 'node:path';
import type { Digest } from '../../core/digest.ts';
import { encodeManifest } from '../../manifest/manifest.ts';
import { manifestFile, packListFile } from '../../store/layout.ts';
import { appendPacks, type PackEntry, type PackListPage } from '../../store/packs/packlist.ts';
import type { HostSession } from '../session/session.ts';
import type { OpenState } from './open-state.ts';

interface NewManifest {
  readonly previous: OpenState | null;
  readonly packs: readonly PackEntry[];
  readonly facts: Digest;
  readonly secrets: Digest | undefined;
}

/** Writes pack lists, then the manifest: after it the state is whole, and before the record nothing speaks of it. */
export async function writeManifest(
  { ports, control, state }: HostSession,
  { previous, packs, facts, secrets }: NewManifest,
): Promise<Digest> {
  const pages = appendPacks(pagesOf(previous), packs);
  for (const page of pages)
    if (previous?.pages.includes(page) !== true) await ports.files.create(join(control, packListFile(page.digest)), page.text);
  const storeKeys = [...new Set(pages.flatMap((page) => page.packs.map((pack) => pack.key)))].sort();
  const packlists = pages.map((page) => page.digest);
  const { text, digest } = encodeManifest({
    format: 'perdure-manifest/1',
    agent: state.agent,
    facts,
    ...(secrets === undefined ? {} : { secrets }),
    packlists,
    storeKeys,
  });
  await ports.files.create(join(control, manifestFile(digest)), text);
  return digest;
}

/** The pages to go on from: those of the state before, or shorter ones where its packs were folded since. */
function pagesOf(previous: OpenState | null): readonly PackListPage[] {
  if (previous === null) return [];
  const recorded = previous.pages.flatMap((page) => page.packs);
  return recorded.length === previous.packs.length && recorded.every((pack, at) => pack.digest === previous.packs[at]?.digest)
    ? previous.pages
    : appendPacks([], previous.packs);
}
