import { isUtf8 } from 'node:buffer';
import { realpath } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { parseJson } from '../core/canonical.ts';
import { AgentError } from '../core/errors.ts';
import { word } from '../core/shell.ts';
import { DOCUMENT_FILE, FORM_FILE, SELF_FILE } from '../letta/form.ts';
import { leftOut, type LeftOut } from '../letta/left-out.ts';
import { frameOf, partsAmong, putTogether } from '../letta/put-together.ts';
import type { Profile } from '../profile/profile.ts';
import { filesOfState, filesOnDisk, type TreeFile } from './af/tree-files.ts';
import { refuseInside } from './bundle/bundle-target.ts';
import { isRoot } from './session/control.ts';
import type { Ports } from './session/ports.ts';
import { detectProfile } from './session/profiles.ts';
import { readProfile } from './session/root-profile.ts';
import { openRoot, openSession, type Session } from './session/session.ts';
import { learned, openForReading } from './state/read-state.ts';
import { findState } from './state/revision.ts';

/** A single part of an agent file is not larger, and all together are not. */
const LARGEST_PART = 32n * 1024n * 1024n;
const LARGEST = 256n * 1024n * 1024n;

/** An agent file that was made, and what is not in it. */
export interface AfExported {
  readonly name: string;
  /** Where it was written; null where it is the answer itself. */
  readonly path: string | null;
  readonly text: string;
  readonly bytes: number;
  /** The record whose state it is; null for the tree on disk. */
  readonly seq: number | null;
  /** Whether the agent came from an agent file. */
  readonly imported: boolean;
  readonly leftOut: readonly LeftOut[];
  readonly tooLong: readonly string[];
  /** Names of secrets that are in it without their values. */
  readonly secrets: readonly string[];
}

interface AfExportOptions {
  /** The directory of the agent; found where none is given. */
  readonly directory: string | undefined;
  /** A recorded state; the tree on disk where none is given. */
  readonly from: string | undefined;
  /** A file that does not exist yet, or null for none. */
  readonly output: string | null;
}

/** Makes an agent file of Letta of the directory of an agent, or of a state of it. Changes nothing of the agent. */
export async function afExport(ports: Ports, options: AfExportOptions): Promise<AfExported> {
  const tree = await openTree(ports, options);
  const target = options.output === null ? null : resolve(ports.cwd, options.output);
  if (target !== null) await refuseTarget(ports, { target, tree });
  const contents = await readParts(tree.files, [DOCUMENT_FILE, FORM_FILE, SELF_FILE]);
  const self = parseJson(contents.get(SELF_FILE) ?? '');
  const frame = frameOf({ document: contents.get(DOCUMENT_FILE), form: contents.get(FORM_FILE), name: nameIn(self) ?? tree.name });
  const paths = tree.files.map(({ path }): string => path);
  const parts = await readParts(tree.files, partsAmong(frame, paths));
  const { text, used, tooLong, secrets } = putTogether(frame, parts);
  if (target !== null && !(await ports.files.create(target, text))) throw occupied(target);
  return {
    name: tree.name,
    path: target,
    text,
    bytes: Buffer.byteLength(text),
    seq: tree.seq,
    imported: frame.imported,
    leftOut: leftOut({ paths, used, self: contents.get(SELF_FILE), hasLedger: tree.session !== null }),
    tooLong,
    secrets,
  };
}

interface OpenTree {
  readonly name: string;
  readonly root: string;
  readonly session: Session | null;
  readonly seq: number | null;
  readonly files: readonly TreeFile[];
}

/** The tree of an agent, or of a directory in the native layout that is not one yet. */
async function openTree(ports: Ports, { directory, from }: AfExportOptions): Promise<OpenTree> {
  const named = directory === undefined ? null : resolve(ports.cwd, directory);
  if (named !== null && !(await ports.files.exists(`${named}/.`)))
    throw new AgentError('FILE_MISSING', `'${named}' is no directory`, {
      hints: [{ command: 'agent af export -o FILE.af DIR', effect: 'with the directory of an agent; nothing was changed' }],
    });
  if (named !== null && from === undefined && !(await isRoot(ports.files, named))) {
    const { profile } = await detectProfile(ports, named);
    refuseLayout(profile, named);
    const root = await realpath(named);
    return { name: basename(root), root, session: null, seq: null, files: filesOnDisk(ports.files, root, profile) };
  }
  const session = named === null ? await openSession(ports) : await openRoot(ports, await realpath(named));
  const { root, name } = session;
  const profile = await readProfile(session);
  refuseLayout(profile, root);
  if (from === undefined) return { name, root, session, seq: null, files: filesOnDisk(ports.files, root, profile) };
  const { manifest, seq } = findState(session, from);
  return { name, root, session, seq, files: await filesOfState(await learned(await openForReading(session, manifest))) };
}

/** Other layouts have their memory elsewhere, and most of them an exporter of their own. */
function refuseLayout({ data }: Profile, directory: string): void {
  if (data.name === 'native') return;
  throw new AgentError('USAGE_WRONG', `'${directory}' has the layout '${data.name}'; an agent file is made of the native one`, {
    hints: [{ command: `agent profile test ${word(directory)} --profile native`, effect: 'tells what of it is in that layout' }],
  });
}

async function readParts(files: readonly TreeFile[], wanted: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const names = new Set(wanted);
  const contents = new Map<string, string>();
  let sum = 0n;
  for (const { path, size, read } of files) {
    if (size === null || size > LARGEST_PART || sum + size > LARGEST || !names.has(path)) continue;
    sum += size;
    const bytes = await read();
    // JSON holds text; other bytes have no place in it.
    if (isUtf8(bytes)) contents.set(path, bytes.toString('utf8'));
  }
  return contents;
}

/** What an agent is called in its own file. */
function nameIn(self: unknown): string | undefined {
  if (typeof self !== 'object' || self === null) return undefined;
  if ('name' in self && typeof self.name === 'string') return self.name;
  return 'designation' in self && typeof self.designation === 'string' ? self.designation : undefined;
}

async function refuseTarget(ports: Ports, { target, tree }: { readonly target: string; readonly tree: OpenTree }): Promise<void> {
  if (tree.session !== null) await refuseInside(tree.session, target);
  else if (`${target}/`.startsWith(`${tree.root}/`))
    throw new AgentError('OUTPUT_INSIDE_ROOT', `'${target}' lies in the directory itself`, {
      hints: [{ command: 'agent af export -o OTHER-FILE.af DIR', effect: 'nothing was changed' }],
    });
  if (await ports.files.exists(target)) throw occupied(target);
}

function occupied(target: string): AgentError {
  return new AgentError('TARGET_OCCUPIED', `'${target}' exists; an agent file is not written over`, {
    hints: [{ command: `agent af export -o ${word(`${target}.new`)}`, effect: 'another name; nothing was changed' }],
  });
}
