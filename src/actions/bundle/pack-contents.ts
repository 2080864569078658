import type { Digest } from '../../core/digest.ts';
import { AgentError } from '../../core/errors.ts';
import type { PublicKey } from '../../core/ssh/key.ts';
import { VERIFY_SCRIPT } from '../../core/generated/verify-script.js';
import { chainText } from '../../ledger/chain.ts';
import { readManifest } from '../../manifest/manifest.ts';
import { sealEnvelope } from '../../store/envelope.ts';
import {
  FORMAT_FILE,
  FORMAT_LINE,
  LEDGER_FILE,
  SCRIPT_FILE,
  envelopeFile,
  grantFile,
  manifestFile,
  packFile,
  packListFile,
} from '../../store/layout.ts';
import { heldFile, placedFile, type StoredFile } from '../../store/reader.ts';
import { envelopeAt, packsOf, recordedPacks } from '../state/check-store.ts';
import { openState } from '../state/open-state.ts';
import { isPassphraseFile } from '../sealed/key-files.ts';
import { recipientFor } from '../sealed/store-keys.ts';
import { findState, statesOf, type StateName } from '../state/revision.ts';
import { hostLabel } from '../session/refusal.ts';
import { sentTo } from './sent.ts';
import type { Session } from '../session/session.ts';
import { identitiesOf } from '../../host/home.ts';

/** What a bundle is to hold. */
export interface ContentsOptions {
  readonly revision?: string | undefined;
  readonly includeSecrets: boolean;
  /** Whether it goes into a directory, which is a backup, too, and leaves nothing out. */
  readonly isDirectory: boolean;
  /** The host that it is for, where no offer says so. */
  readonly target?: PublicKey | undefined;
  /** Where it is written to. */
  readonly output: string;
  /** Leaves nothing out. */
  readonly full: boolean;
  readonly script: boolean;
}

/** What goes into a bundle. */
export interface Contents {
  readonly chosen: StateName;
  /** In the order that lets a reader of a cut copy see an older state: the ledger last. */
  readonly names: readonly string[];
  readonly extra: ReadonlyMap<string, Buffer>;
  /** Packs left out because the target has them. */
  readonly leftOut: number;
  /** The state whose packs were left out, or null. */
  readonly since: Digest | null;
  /** For whom secrets were sealed, or null. */
  readonly secretsFor: string | null;
}

/** Finds what belongs to a bundle of a state. */
export async function contentsOf(session: Session, options: ContentsOptions): Promise<Contents> {
  const { reader, chain, state } = session;
  const read = (name: string): Promise<Buffer | null> => reader.read(name);
  const chosen = findState(session, options.revision);
  const since = options.isDirectory || options.full ? undefined : await baseOf(session, options);
  const had = new Set(since === undefined ? [] : (await recordedPacks(since, read)).map((pack) => pack.digest));
  const all = (await packsOf(chosen.manifest, { read, ledger: state })).map((pack) => pack.digest);
  const packs = all.filter((digest) => !had.has(digest));
  const manifests: Digest[] = [];
  const lists = new Set<Digest>(state.folded);
  for (const one of statesOf(chain)) {
    if (one.seq > chosen.seq || manifests.includes(one.manifest)) continue;
    const manifest = await readManifest(read, one.manifest);
    if (manifest === null) continue;
    manifests.push(one.manifest);
    for (const digest of manifest.packlists) lists.add(digest);
  }
  const extra = new Map<string, Buffer>([
    [FORMAT_FILE, Buffer.from(FORMAT_LINE)],
    [LEDGER_FILE, Buffer.from(chainText(chain.records))],
    ...(options.script ? [[SCRIPT_FILE, Buffer.from(VERIFY_SCRIPT)] as const] : []),
  ]);
  const grants = options.includeSecrets ? await grantSecrets(session, chosen.manifest) : null;
  for (const [name, bytes] of grants?.files ?? []) extra.set(name, bytes);
  const envelopes = await envelopesOf(session, { extra, isDirectory: options.isDirectory });
  const names = [
    FORMAT_FILE,
    ...(options.script ? [SCRIPT_FILE] : []),
    ...packs.map(packFile),
    ...envelopes,
    ...(grants === null ? [] : grants.files.keys()),
    ...[...lists].map(packListFile),
    ...manifests.map(manifestFile),
    LEDGER_FILE,
  ];
  return { chosen, names, extra, leftOut: all.length - packs.length, since: since ?? null, secretsFor: grants?.target ?? null };
}

/** The state whose packs the target has: what the open offer says, or what was packed for it before. */
async function baseOf(session: Session, { target, output }: ContentsOptions): Promise<Digest | undefined> {
  const { offer } = session.state;
  if (offer !== null && (target === undefined || target === offer.target)) return offer.since;
  return target === undefined ? undefined : ((await sentTo(session, target, output)) ?? undefined);
}

/** Names of the envelopes; their bytes go into `extra`. */
async function envelopesOf(
  { reader, state }: Session,
  { extra, isDirectory }: { readonly extra: Map<string, Buffer>; readonly isDirectory: boolean },
): Promise<readonly string[]> {
  const names: string[] = [];
  for (const { id, envelope } of Object.values(state.keys.storeKeys)) {
    const bytes = await envelopeAt((name) => reader.read(name), { id, envelope });
    if (bytes === null)
      throw new AgentError('BUNDLE_INCOMPLETE', `the envelope of store key ${id} is missing in '${reader.name}'`, {
        hints: [{ command: 'agent verify', effect: 'lists all that is missing' }],
      });
    // Into a directory under its digest first: the one in place belongs to the ledger that is there until the new one is.
    const name = isDirectory ? grantFile(id, envelope) : envelopeFile(id);
    names.push(name);
    extra.set(name, bytes);
  }
  for (const { name } of await reader.list('keys')) if (isPassphraseFile(name, state)) names.push(name);
  return names;
}

/** Seals the keys of secrets to the target of the open offer. */
async function grantSecrets(
  session: Session,
  manifest: Digest,
): Promise<{ readonly files: ReadonlyMap<string, Buffer>; readonly target: string }> {
  const { ports, reader, state, host } = session;
  const target = host?.known.find((one) => one.key === state.offer?.target);
  if (host === null || state.offer === null || target === undefined)
    throw new AgentError('OFFER_MISSING', `secrets are sealed only to the target of an open offer, and '${session.name}' has none`, {
      hints: [
        {
          command: 'agent fence --to INVITE',
          effect: 'opens one; a bundle for yourself needs no flag: the recovery key opens its secrets',
        },
      ],
    });
  const { keys } = await openState({ readers: [reader], ledger: state, manifest, identities: identitiesOf(host), threads: ports.threads });
  const files = new Map<string, Buffer>();
  for (const { id, use } of Object.values(state.keys.storeKeys)) {
    const identity = keys.get(id);
    if (use !== 'secret' || identity === undefined) continue;
    const recipients = [target.recipient, recipientFor(host, state), ...state.recovery.map((one) => one.recipient)];
    const { bytes, digest } = await sealEnvelope(identity, recipients);
    files.set(grantFile(id, digest), bytes);
  }
  return { files, target: hostLabel(session, target.key) };
}

/** A file of a bundle, ready to be read part by part. */
export async function fileOf({ reader }: Session, contents: Contents, name: string): Promise<StoredFile> {
  const own = contents.extra.get(name);
  if (own !== undefined) return heldFile(own);
  const place = await reader.locate(name);
  if (place !== null) return placedFile(place);
  throw new AgentError('BUNDLE_INCOMPLETE', `'${name}' is missing in '${reader.name}'`, {
    hints: [{ command: 'agent verify', effect: 'lists all that is missing' }],
  });
}
