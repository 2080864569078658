import { AgentError } from '../core/errors.ts';
import { loadName, parseRelPath, showName, type RelPath } from '../core/name.ts';
import type { Entry } from '../manifest/entry.ts';
import { isDirectoryRoot, outsideRoots, type Facts } from '../manifest/facts.ts';
import { chunksOf, findEntry, readDirectory } from '../manifest/tree.ts';
import { mainRoot, sideOf } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import { learned, openForReading } from './state/read-state.ts';
import { findState } from './state/revision.ts';
import { openSession } from './session/session.ts';

/** What `show` found: a state, a directory of it, or the bytes of a file. */
export type ShowResult =
  | {
      readonly kind: 'state';
      readonly seq: number;
      readonly manifest: string;
      readonly packs: number;
      readonly bytes: number;
      readonly facts: Facts;
    }
  | { readonly kind: 'directory'; readonly path: string; readonly entries: readonly Entry[] }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'file'; readonly size: string; readonly content: AsyncIterable<Buffer> };

/** Shows a recorded state, or with `REV:PATH` what lies there. */
export async function show(ports: Ports, revision = 'HEAD'): Promise<ShowResult> {
  const session = await openSession(ports);
  const colon = revision.indexOf(':');
  const name = colon < 0 ? revision : revision.slice(0, colon);
  const found = findState(session, name === '' ? undefined : name);
  const state = await openForReading(session, found.manifest);
  if (colon < 0)
    return {
      kind: 'state',
      seq: found.seq,
      manifest: found.manifest,
      packs: state.packs.length,
      bytes: state.packs.reduce((sum, pack) => sum + pack.size, 0),
      facts: state.facts,
    };
  await learned(state);
  const { get } = sideOf(state);
  const { pages, path } = placeIn(state.facts, revision.slice(colon + 1));
  if (path === '') return { kind: 'directory', path: '.', entries: await list(pages) };
  const entry = await findEntry(pages, path, get);
  if (entry === null)
    throw new AgentError('PATH_UNKNOWN', `'${showName(path)}' is not in record ${String(found.seq)}`, {
      hints: [{ command: `agent show ${name}:`, effect: 'lists what is' }],
    });
  if (entry.type === 'link') return { kind: 'link', target: entry.target };
  if (entry.type === 'directory') return { kind: 'directory', path, entries: await list(entry.pages) };
  if (entry.class !== 'secret') return { kind: 'file', size: entry.size, content: contentOf(entry, get) };
  const held = state.sheet?.files.find((file) => file.path.map(loadName).join('/') === path);
  if (held === undefined) throw new AgentError('KEY_UNFIT', `no key of this host opens the secret '${showName(path)}'`);
  return { kind: 'file', size: entry.size, content: contentOf(held, (digest) => state.objects.secret.chunk(digest)) };

  async function list(pages: Parameters<typeof readDirectory>[0]): Promise<readonly Entry[]> {
    const entries: Entry[] = [];
    for await (const one of readDirectory(pages, get)) entries.push(one);
    return entries;
  }
}

/** What a path names: `~/…` and absolute ones are of what lies outside of the root. */
function placeIn({ roots, ...facts }: Facts, text: string): { readonly pages: Facts['roots'][number]['pages']; readonly path: RelPath } {
  for (const { name, pages } of outsideRoots({ roots })) {
    if (!isDirectoryRoot(name) && text === name) return { pages, path: parseRelPath(name.slice(name.lastIndexOf('/') + 1)) };
    if (isDirectoryRoot(name) && `${text}/`.startsWith(name))
      return { pages, path: parseRelPath(text.slice(name.length).replace(/\/+$/, '')) };
  }
  return { pages: mainRoot({ ...facts, roots }).pages, path: parseRelPath(text.replace(/^\.?\/+|\/+$/g, '')) };
}

async function* contentOf(entry: Parameters<typeof chunksOf>[0], get: Parameters<typeof chunksOf>[1]): AsyncGenerator<Buffer> {
  for await (const digest of chunksOf(entry, get)) yield await get(digest);
}
