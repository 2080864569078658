import { canonical, parseJson, type Json } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { factsValid, secretsValid } from '../core/generated/validators.js';
import type { StoredName } from '../core/name.ts';
import type { FileClass } from '../profile/profile.ts';
import type { Coverage } from './coverage.ts';

/** One thing that a check reports. */
export interface Finding {
  readonly code: string;
  readonly subject: string;
  readonly class?: FileClass;
  /** The command to type next. */
  readonly next?: string;
}

/** What the body is. */
export interface BodyFacts {
  readonly kind: 'git' | 'files';
  readonly revision?: string;
  readonly dirty?: boolean;
  readonly remote?: string;
}

/** What is known of a database beside its bytes. */
export interface DatabaseRecord {
  readonly path: string;
  readonly userVersion: number;
  readonly tables: readonly { readonly name: string; readonly rows?: number }[];
  readonly check: string;
}

/** Findings that say that a database was copied while it was written, and may not open. */
export const UNCOPIED: ReadonlySet<string> = new Set(['SQLITE_RAW', 'DATABASE_LOCKED']);

/** A tree of a state: `main`, or what lies outside of that and is named by where it lies. */
export type RecordedRoot = {
  readonly name: string;
  readonly mode: number;
  readonly mtime: string;
  readonly pages: readonly Digest[];
  /** Where it would lie within the root, by which its files are known to the profile. */
  readonly as?: string;
};

/** The trees of a state beside the root. */
export function outsideRoots({ roots }: { readonly roots: readonly RecordedRoot[] }): readonly RecordedRoot[] {
  return roots.filter(({ name }) => name !== 'main');
}

/** Whether what a name of a tree stands for is a directory, by its end. */
export function isDirectoryRoot(name: string): boolean {
  return name.endsWith('/');
}

/** What is known of one state; sealed. */
export interface Facts {
  readonly format: 'perdure-facts/1';
  readonly name: string;
  readonly roots: readonly RecordedRoot[];
  /** Digest of each class over path, type, mode, link and content; never times, never class secret. */
  readonly classes: Readonly<Record<string, Digest>>;
  readonly consistency: 'quiesced' | 'live';
  readonly coverage: Coverage;
  /** Alarms that are not declared yet, older ones first. */
  readonly alarms: readonly Finding[];
  readonly findings: readonly Finding[];
  /** `data` where the program does not have it by this digest. */
  readonly profile: { readonly name: string; readonly digest: Digest; readonly data?: Json };
  /** Names of host, model, bot and account: never part of the identity. */
  readonly labels: Readonly<Record<string, string>>;
  readonly requirements: readonly { readonly tool: string; readonly version?: string }[];
  /** Files of each class. */
  readonly counts: Readonly<Record<string, number>>;
  readonly body?: BodyFacts;
  readonly databases?: readonly DatabaseRecord[];
  readonly message?: string;
  readonly identityVersion?: string;
}

/** What the files of class secret hold; sealed to the secret store key. */
export interface SecretSheet {
  readonly files: readonly {
    readonly root: string;
    readonly path: readonly StoredName[];
    readonly sha256: Digest;
    readonly chunks: readonly Digest[];
    readonly lists?: readonly Digest[];
  }[];
}

/** Writes facts. */
export function encodeFacts(facts: Facts): Buffer {
  return Buffer.from(canonical(facts as unknown as Json));
}

/** Reads facts; throws MANIFEST_DAMAGED. */
export function decodeFacts(bytes: Buffer): Facts {
  const value = parseJson(bytes.toString('utf8'));
  if (!factsValid(value)) throw new AgentError('MANIFEST_DAMAGED', 'the facts of a state are not valid');
  return value as Facts;
}

/** So many files are on one page of a sheet. */
const SHEET_PAGE = 1000;

/** Stores the pages of a sheet of secrets and returns the chunk by which it is entered. */
export async function writeSecrets(files: SecretSheet['files'], put: (digest: Digest, bytes: Buffer) => Promise<void>): Promise<Buffer> {
  const pages: Digest[] = [];
  for (let at = 0; at < files.length; at += SHEET_PAGE) {
    const page = Buffer.from(canonical({ format: 'perdure-secrets/1', files: files.slice(at, at + SHEET_PAGE) }));
    pages.push(digestOf(page));
    await put(digestOf(page), page);
  }
  return Buffer.from(canonical({ format: 'perdure-secrets/1', pages }));
}

/** Reads a sheet of secrets, of which `top` is the entrance; throws MANIFEST_DAMAGED. */
export async function readSecrets(top: Buffer, get: (digest: Digest) => Promise<Buffer>): Promise<SecretSheet> {
  const files: SecretSheet['files'][number][] = [];
  for (const page of parseSecretPages(top)) files.push(...(parseSecrets(await get(page)).files ?? []));
  return { files };
}

/** The pages of a sheet of secrets, of which `top` is the entrance; throws MANIFEST_DAMAGED. */
export function parseSecretPages(top: Buffer): readonly Digest[] {
  return parseSecrets(top).pages ?? [];
}

function parseSecrets(bytes: Buffer): { readonly pages?: readonly Digest[]; readonly files?: SecretSheet['files'] } {
  const value = parseJson(bytes.toString('utf8'));
  if (!secretsValid(value)) throw new AgentError('MANIFEST_DAMAGED', 'the sheet of secrets of a state is not valid');
  return value as ReturnType<typeof parseSecrets>;
}
