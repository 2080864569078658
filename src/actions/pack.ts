import { dirname, join } from 'node:path';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import type { PublicKey } from '../core/ssh/key.ts';
import { readMedium } from '../providers/medium.ts';
import { digestInName, envelopeFile, grantFile, sizeLimit } from '../store/layout.ts';
import { writeFile, writeStream, type Written } from './bundle/bundle-file.ts';
import { refuseForeign, targetOf } from './bundle/bundle-target.ts';
import { contentsOf, fileOf, type Contents } from './bundle/pack-contents.ts';
import type { Ports } from './session/ports.ts';
import { noteSent } from './bundle/sent.ts';
import { openSession, type Session } from './session/session.ts';
import { word } from '../core/shell.ts';

/** What goes into a bundle, and where it goes. */
export interface PackOptions {
  readonly revision?: string | undefined;
  /** A `.tar` file, a directory, or `-` for `write`. */
  readonly output: string;
  readonly includeSecrets: boolean;
  readonly write: (bytes: Buffer) => Promise<void>;
  /** The host that it is for, before an offer says so: what was packed for it before is left out. */
  readonly target?: PublicKey | undefined;
  /** The output is a bundle directory, whatever its name. */
  readonly directory?: boolean;
  /** Leaves nothing out. */
  readonly full?: boolean;
  /** Puts verify.sh into it. */
  readonly script?: boolean;
  /** Reads back from the medium what was written. */
  readonly checkMedium?: boolean;
}

/** What was written. */
export interface PackResult {
  readonly session: Session;
  readonly output: string;
  readonly bytes: number;
  readonly packs: number;
  /** Packs left out because the target has them. */
  readonly leftOut: number;
  /** For whom secrets were sealed, or null. */
  readonly secretsFor: string | null;
  /** Files read back from the medium, and whether past the system's cache; null where it was not asked for. */
  readonly medium: { readonly files: number; readonly direct: boolean } | null;
  /** The type of a file system that keeps neither modes nor large files; else null. */
  readonly poorFileSystem: string | null;
}

/** Writes a bundle: all that travels of an agent up to a state. Into a bundle directory it adds what is missing. */
export async function pack(ports: Ports, options: PackOptions): Promise<PackResult> {
  const session = await openSession(ports);
  const { full = false, script = false, checkMedium = false } = options;
  const target = options.output === '-' ? null : await targetOf(session, options.output, { directory: options.directory === true });
  const contents = await contentsOf(session, {
    ...options,
    output: target?.path ?? '-',
    full,
    script,
    isDirectory: target?.isDirectory === true,
  });
  const poor = target === null ? null : await refuseLimit(session, contents, target);
  const written = await write(session, { contents, target, write: options.write, hashed: checkMedium });
  const medium = checkMedium ? await checkWritten(written.files) : null;
  if (options.target !== undefined)
    await noteSent(session, {
      target: options.target,
      manifest: contents.chosen.manifest,
      output: target?.path ?? '-',
      since: contents.since,
    });
  const { leftOut, secretsFor } = contents;
  const packs = contents.names.filter((name) => name.startsWith('packs/')).length;
  return { session, output: options.output, packs, leftOut, secretsFor, bytes: written.bytes, medium, poorFileSystem: poor };
}

type Output = Awaited<ReturnType<typeof targetOf>>;

async function write(
  session: Session,
  {
    contents,
    target,
    write,
    hashed,
  }: { readonly contents: Contents; readonly target: Output | null; readonly write: PackOptions['write']; readonly hashed: boolean },
): Promise<{ readonly bytes: number; readonly files: readonly Written[] }> {
  // The stream takes its time, and the buffer is used again.
  if (target === null) return { bytes: await writeStream(session, contents, (part) => write(Buffer.from(part))), files: [] };
  return target.isDirectory
    ? writeDirectory(session, contents, target.path)
    : writeFile(session, contents, { target: target.path, hashed });
}

/** Throws LIMIT_FAT where a tar file would not fit the file system; returns the type of one that keeps no modes. */
async function refuseLimit(session: Session, contents: Contents, { path, isDirectory }: Output): Promise<string | null> {
  const kind = await session.ports.fileSystem(isDirectory ? path : dirname(path));
  const limit = kind?.fileLimit ?? null;
  if (kind === null || limit === null) return null;
  if (!isDirectory) {
    let size = 1024;
    for (const name of contents.names) size += 1024 + (await fileOf(session, contents, name)).size;
    if (size > limit)
      throw new AgentError(
        'LIMIT_FAT',
        `'${path}' would have about ${String(size)} bytes, and ${kind.type} holds no file of more than ${String(limit)}`,
        {
          hints: [
            {
              command: `agent pack -o ${word(path.replace(/\.tar$/, ''))}`,
              effect: 'a directory of packs of at most 32 MiB; nothing was written',
            },
          ],
        },
      );
  }
  return kind.type;
}

async function checkWritten(files: readonly Written[]): Promise<PackResult['medium']> {
  let direct = true;
  for (const { path, digest } of files) {
    const read = await readMedium(path);
    direct &&= read.direct;
    if (read.digest !== digest)
      throw new AgentError('MEDIUM_DAMAGED', `'${path}' did not come back from the medium as it was written`, {
        hints: [
          { command: `rm ${word(path)}`, effect: 'then pack again, onto another medium: this one loses what it is given' },
          { command: 'dmesg', effect: 'may say what the system saw of it' },
        ],
      });
  }
  return { files: files.length, direct };
}

async function writeDirectory(
  session: Session,
  contents: Contents,
  target: string,
): Promise<{ readonly bytes: number; readonly files: readonly Written[] }> {
  const { files } = session.ports;
  await refuseForeign(session, target);
  let total = 0;
  const all: Written[] = [];
  for (const name of contents.names) {
    const path = join(target, name);
    // Named by their content, these cannot change; the others are replaced whole.
    // An envelope that the ledger names gets its place at the end; grants and identities under a passphrase keep their names.
    const id = name.slice('keys/'.length, 'keys/'.length + 16);
    const named = session.state.keys.storeKeys[id]?.envelope;
    const inPlace = named !== undefined && name === grantFile(id, named) ? join(target, envelopeFile(id)) : null;
    const promised = digestInName(name);
    const extra = contents.extra.get(name);
    all.push({ path: inPlace ?? path, digest: promised ?? digestOf(extra ?? Buffer.alloc(0)) });
    if (/^(packs|packlists|manifests)\//.test(name) && (await files.exists(path))) continue;
    if (inPlace !== null && (await digestAt(files, inPlace)) === promised) continue;
    const file = await fileOf(session, contents, name);
    await files.replace(path, file.parts());
    total += file.size;
    session.ports.progress({ phase: 'pack', bytes: BigInt(total) });
  }
  for (const { id, envelope } of Object.values(session.state.keys.storeKeys)) {
    const fresh = join(target, grantFile(id, envelope));
    if (await files.exists(fresh)) await files.rename(fresh, join(target, envelopeFile(id)));
  }
  return { bytes: total, files: all };
}

async function digestAt(files: Files, path: string): Promise<Digest | null> {
  // What is too large for an envelope is none, and is replaced.
  if (((await files.size(path)) ?? 0) > sizeLimit('keys/0.age')) return null;
  const bytes = await files.readIfPresent(path);
  return bytes === null ? null : digestOf(bytes);
}
