import { mkdir, realpath, rename } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AgentError } from '../core/errors.ts';
import { showName, type RelPath } from '../core/name.ts';
import { syncTree } from '../install/durable.ts';
import { stageTree } from '../install/stage.ts';
import type { Entry, FileEntry } from '../manifest/entry.ts';
import { selectTree } from '../manifest/select.ts';
import { chunksOf, walkTree } from '../manifest/tree.ts';
import type { FileClass } from '../profile/profile.ts';
import { checkAgentName } from './session/agent-name.ts';
import { progressOf } from './session/progress.ts';
import type { NewCustodian } from './custody.ts';
import { pathsOf, refuseSecrets, type SecretsReport } from './descending/secrets.ts';
import { init, type InitResult } from './init.ts';
import { checkKitPlace } from './custodian/kit-place.ts';
import { isWithin } from './restoring/parts.ts';
import { assertMay } from './session/may.ts';
import { mainRoot, sideOf, type OpenState } from './state/open-state.ts';
import type { Ports } from './session/ports.ts';
import { learned, openForReading } from './state/read-state.ts';
import { findState } from './state/revision.ts';
import { profileOfFacts } from './session/root-profile.ts';
import { openRoot, openSession, type Session } from './session/session.ts';
import { lookAtTarget, refuseShort } from './bundle/target.ts';
import { word } from '../core/shell.ts';
import { isRoot } from './session/control.ts';

/** What the new agent gets, and where it goes. */
export interface DescendOptions {
  readonly directory: string;
  readonly revision?: string | undefined;
  /** Classes beside identity and body that the new agent gets. */
  readonly classes: readonly FileClass[];
  readonly name?: string | undefined;
  readonly recovery: NewCustodian | null;
  /** Whether all its keys are hybrid ones. */
  readonly hybrid?: boolean;
  /** Names the parent in the new agent's first record. Only the parent's holder can prove it. */
  readonly proof: boolean;
  /** Paths that it does not get. */
  readonly without?: readonly string[];
  /** Paths where what looks like a secret is none. */
  readonly accept?: readonly string[];
}

/** The new agent. */
export interface DescendResult extends Pick<InitResult, 'session'>, SecretsReport {
  readonly parent: string;
  readonly seq: number;
  readonly files: number;
  /** Files that may hold secrets and were left out whole, of whatever class. */
  readonly leftOut: readonly string[];
  /** Paths that were left out as it was asked. */
  readonly without: readonly string[];
}

const INHERITED: readonly FileClass[] = ['identity', 'body'];

/**
 * Makes a new agent of an old one's identity and body: with keys, id and ledger of its own, and none of the parent's private
 * files but those of the classes that are named. What looks like a secret in one that would leave is refused before anything
 * is written. The parent is not changed.
 */
export async function descend(ports: Ports, options: DescendOptions): Promise<DescendResult> {
  const parent = await openSession(ports);
  if (options.proof) assertMay(parent, 'checkpoint');
  const chosen = findState(parent, options.revision);
  const state = await learned(await openForReading(parent, chosen.manifest));
  const name = checkAgentName(options.name ?? basename(resolve(ports.cwd, options.directory)));
  const profile = await profileOfFacts(state.facts);
  const given = async (paths: readonly string[] = []): ReturnType<typeof pathsOf> => pathsOf(parent, { paths, state, seq: chosen.seq });
  const [without, accept] = [await given(options.without), await given(options.accept)];
  const { tree, files, bytes, leftOut } = await inheritance(state, { classes: new Set([...INHERITED, ...options.classes]), without });
  const begun = await begunAt(ports, parent, options.directory);
  const path = begun ?? (await freshTarget(ports, options));
  const scanned = await refuseSecrets(parent, { tree, accept, seq: chosen.seq, command: typed(options) });
  if (begun === null) {
    await refuseShort(path, bytes);
    await stage(ports, { path, state, tree, journal: state.manifest.agent });
  }
  const session = (await isRoot(ports.files, path))
    ? await openRoot(ports, path)
    : (
        await init(ports, {
          directory: path,
          name,
          profile,
          recovery: options.recovery,
          hybrid: options.hybrid === true,
          parent: options.proof ? parentOf(parent) : undefined,
        })
      ).session;
  await ports.files.remove(journalPath(path));
  return { session, parent: parent.name, seq: chosen.seq, files, leftOut, without: without.map(showName), ...scanned };
}

/** Beside the new agent while it is made, so that the same command goes on with it. */
function journalPath(path: string): string {
  return join(dirname(path), `.${basename(path)}.perdure-descend`);
}

/** Where the same command put the files in place before, and did not come to its end; else null. */
async function begunAt({ files, cwd }: Ports, { state }: Session, directory: string): Promise<string | null> {
  const path = await realpath(resolve(cwd, directory)).catch(() => null);
  const journal = path === null ? null : await files.readIfPresent(journalPath(path));
  if (path === null || journal?.toString('utf8') !== state.agent) return null;
  // Cut before the files were put in place, an empty directory is as it was.
  return (await files.list(path)).length > 0 ? path : null;
}

/** The command as it was typed, for more to be added. */
function typed({ directory, revision, classes, name, recovery, hybrid, proof, without = [], accept = [] }: DescendOptions): string {
  const flag = (one: string, values: readonly (string | undefined)[]): readonly string[] =>
    values.flatMap((value) => (value === undefined ? [] : [one, word(value)]));
  const custodian =
    recovery === null
      ? ['--no-recovery']
      : 'kit' in recovery
        ? flag('--recovery-kit', [recovery.kit])
        : [...flag('--custodian', [recovery.key]), ...flag('--recovery-recipient', [recovery.recipient])];
  return [
    'agent descend',
    word(directory),
    ...custodian,
    ...flag('--class', classes),
    ...flag('--from', [revision]),
    ...flag('--name', [name]),
    ...(hybrid === true ? ['--pq'] : []),
    ...(proof ? ['--proof'] : []),
    ...flag('--without', without),
    ...flag('--accept', accept),
  ].join(' ');
}

function parentOf({ state }: Session): {
  readonly agent: Session['state']['agent'];
  readonly seq: number;
  readonly digest: Session['state']['head'];
} {
  return { agent: state.agent, seq: state.seq, digest: state.head };
}

/** A directory that is not there or empty, and a kit that can be written: what init would refuse is refused before. */
async function freshTarget(ports: Ports, { directory, recovery }: DescendOptions): Promise<string> {
  const { path, old } = await lookAtTarget(ports, directory, { agent: '' as never });
  if (old !== null) throw new AgentError('INTERNAL', 'an agent without an id');
  if (recovery === null || !('kit' in recovery)) return path;
  const kit = resolve(ports.cwd, recovery.kit);
  await checkKitPlace(ports, { kit, directory: path });
  if (await ports.files.exists(kit))
    throw new AgentError('KIT_EXISTS', `'${kit}' exists; a kit is never overwritten`, {
      hints: [{ command: `agent descend ${word(directory)} --recovery-kit OTHER-FILE`, effect: 'nothing was changed' }],
    });
  return path;
}

async function inheritance(
  state: OpenState,
  { classes, without }: { readonly classes: ReadonlySet<FileClass>; readonly without: readonly RelPath[] },
): Promise<{
  readonly tree: Awaited<ReturnType<typeof selectTree>>;
  readonly files: number;
  readonly bytes: bigint;
  readonly leftOut: readonly string[];
}> {
  const side = sideOf(state);
  const closed = new Set<string>();
  const contents = new Set<string>();
  for await (const { path, entry } of walkTree(side.pages, side.get))
    if (entry.type === 'file' && (await mayHoldSecrets(path, entry, state))) {
      closed.add(path);
      // By whatever name or copy, it is the same content.
      if (entry.same !== undefined) closed.add(entry.same);
      if (entry.sha256 !== undefined && entry.size !== '0') contents.add(entry.sha256);
    }
  let files = 0;
  let bytes = 0n;
  const tree = await selectTree(side, (path, entry: Entry) => {
    if (!classes.has(entry.class) || closed.has(path) || isWithin(path, without)) return false;
    if (entry.type === 'file' && entry.same !== undefined && closed.has(entry.same)) return false;
    if (entry.type === 'file' && entry.sha256 !== undefined && contents.has(entry.sha256)) return false;
    if (entry.type !== 'directory') files++;
    if (entry.type === 'file') bytes += BigInt(entry.size);
    return true;
  });
  return { tree, files, bytes, leftOut: [...closed].map(showName) };
}

/** A file that its profile flags, that is of class secret, or a configuration of Git with a password in an address. */
async function mayHoldSecrets(path: string, entry: FileEntry, state: OpenState): Promise<boolean> {
  if (entry.class === 'secret' || entry.flags?.includes('secret-bearing') === true) return true;
  if (!/(^|\/)\.git\/(.*\/)?config$/.test(path) && !/(^|\/)\.git-credentials$/.test(path)) return false;
  const get = (digest: Parameters<typeof state.objects.main.chunk>[0]): Promise<Buffer> => state.objects.main.chunk(digest);
  // An address may lie across two chunks.
  let tail = '';
  for await (const digest of chunksOf(entry, get)) {
    const text = tail + (await get(digest)).toString('latin1');
    if (/:\/\/[^/\s]*:[^/\s]*@/.test(text)) return true;
    tail = text.slice(-4096);
  }
  return false;
}

async function stage(
  { files, progress }: Ports,
  {
    path,
    state,
    tree,
    journal,
  }: { readonly path: string; readonly state: OpenState; readonly tree: Awaited<ReturnType<typeof selectTree>>; readonly journal: string },
): Promise<void> {
  const staging = join(dirname(path), `.${basename(path)}.perdure-staging`);
  await files.makeDirectory(dirname(path));
  await files.removeTree(staging);
  await mkdir(staging, { mode: 0o700 });
  try {
    const root = { ...mainRoot(state.facts), pages: tree.pages };
    await stageTree({ root, get: tree.get, secrets: null }, staging, { onFiles: progressOf({ progress }, 'descend') });
    await syncTree(staging);
    await files.replace(journalPath(path), journal);
    await rename(staging, path);
  } catch (error) {
    await files.removeTree(staging);
    throw error;
  }
  await files.syncDirectory(dirname(path));
}
