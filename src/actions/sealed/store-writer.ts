import { join } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import type { GetChunk } from '../../manifest/tree.ts';
import { ChunkIndex, indexBlock, recordsOf } from '../../store/packs/chunk-index.ts';
import { openStoreKeys } from '../../store/envelope.ts';
import { packFile } from '../../store/layout.ts';
import { ObjectSource } from '../../store/packs/objects.ts';
import { PackWriter } from '../../store/packs/pack-writer.ts';
import { chunkCachePath, type OpenState, type Use } from '../state/open-state.ts';
import type { HostSession } from '../session/session.ts';
import type { NewStoreKeys } from './store-keys.ts';
import { identitiesOf } from '../../host/home.ts';

/** Writes packs into the store of a root, and reads back what it wrote. */
export interface StoreWriter {
  readonly writers: Readonly<Record<Use, PackWriter>>;
  /** Reads a chunk of the main packs, whether old, sealed just now or not sealed yet. */
  readonly get: GetChunk;
}

/** A store key that was opened by a checkpoint which did not come to its record. */
async function ownKey({ reader, state, host }: HostSession, id: string): Promise<string | undefined> {
  return (await openStoreKeys(reader, Object.values(state.keys.storeKeys), identitiesOf(host))).get(id);
}

/** Opens the store for a checkpoint: what the packs of the state before hold is learned, so that it is not written again. */
export async function openStoreWriter(
  session: HostSession,
  { previous, fresh }: { readonly previous: OpenState | null; readonly fresh: NewStoreKeys | null },
): Promise<StoreWriter> {
  const { ports, control, state } = session;
  const { files } = ports;
  const open = async (use: Use): Promise<{ readonly writer: PackWriter; readonly source: ObjectSource }> => {
    const cache = chunkCachePath(control, use);
    const note = async (block: Buffer): Promise<void> => files.append(cache, block, { at: (await files.size(cache)) ?? 0 });
    await files.makeDirectory(join(control, 'local', 'index'));
    const source =
      previous?.objects[use] ??
      new ObjectSource({
        locate: (name) => session.reader.locate(name),
        threads: ports.threads,
        keys: new Map(),
        packs: [],
        index: new ChunkIndex(),
      });
    await source.learn({ onPack: ({ digest }, records) => note(indexBlock(digest, records)) });
    const id = fresh?.[use].id ?? state.keys[use] ?? '';
    const recipient = fresh?.[use].recipient ?? state.keys.storeKeys[id]?.recipient;
    const identity = fresh?.[use].identity ?? previous?.keys.get(id) ?? (await ownKey(session, id));
    if (recipient === undefined || identity === undefined)
      throw new AgentError('KEY_UNFIT', `this host cannot open store key ${id} of '${session.name}'`);
    const writer = new PackWriter({
      index: source.index,
      key: { id, recipient },
      threads: ports.threads,
      async sink({ entry, header, bytes }) {
        await files.create(join(control, packFile(entry.digest)), bytes);
        await note(indexBlock(entry.digest, recordsOf(header)));
        source.addWritten(entry, identity);
      },
    });
    return { writer, source };
  };
  const main = await open('main');
  const secret = await open('secret');
  return {
    writers: { main: main.writer, secret: secret.writer },
    get: async (digest) => (await main.writer.peek(digest)) ?? main.source.chunk(digest),
  };
}
