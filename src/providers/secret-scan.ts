import { Readable } from 'node:stream';
import { createUnzip } from 'node:zlib';

/** A file to look into. */
interface ScannedFile {
  /** By its name some rules know what it should be. */
  readonly path: string;
  /** Opens its bytes, in parts; may be called twice. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

/** Where a probable secret is; never what it is. */
export interface SecretFinding {
  /** The rule that knows it: `github`, `privatekey`. */
  readonly rule: string;
  /** From 1, in the text as it was decoded and unpacked. */
  readonly line: number;
}

/** What was found in a file. */
export interface SecretScan {
  /** In the order of lines, each rule once a line. */
  readonly findings: readonly SecretFinding[];
  /** The kind of archive that could not be looked into (beyond its bytes as they are), or null. */
  readonly closed: string | null;
}

/** Looks for secrets in one file. */
export type ScanForSecrets = (file: ScannedFile) => Promise<SecretScan>;

type Lint = (text: string, path: string) => Promise<readonly { readonly rule: string; readonly at: number }[]>;

/** So many characters are looked at together. */
const WINDOW = 1 << 20;
/** Of which so many again with the next ones: a private key has at most about 10,000. */
const OVERLAP = 1 << 16;
/** A file with so many findings is not looked into further. */
const MOST_FINDINGS = 1000;
/** What is compressed is unpacked up to so many bytes. */
const MOST_UNPACKED = 256 * 1024 * 1024;

const LIBRARY_RULES = '@secretlint/secretlint-rule-';
/** Comments in a file would switch off what is looked for in it, and the file is not trusted. */
const FILTER = `${LIBRARY_RULES}filter-comments`;
/** The id of a key of AWS is no secret, but its secret is seldom far; the number of an account is not. */
const OPTIONS = { enableIDScanRule: true };
const NO_SECRET: ReadonlySet<string> = new Set(['AWSAccountID']);

/** Formats that hold other files in a form in which nothing is found, by their first bytes. */
const CLOSED: readonly (readonly [string, string])[] = [
  ['PK\x03\x04', 'zip'],
  ['\xfd7zXZ\x00', 'xz'],
  ['BZh', 'bzip2'],
  ['\x28\xb5\x2f\xfd', 'zstd'],
  ['\x04\x22\x4d\x18', 'lz4'],
  ['7z\xbc\xaf\x27\x1c', '7z'],
  ['Rar!\x1a\x07', 'rar'],
  ['PACK\x00\x00\x00', 'pack of Git'],
  ['%PDF-', 'pdf'],
  ['\xfe\xed\xfe\xed', 'Java key store'],
  ['\x03\xd9\xa2\x9a', 'KeePass database'],
];
const KEY_STORE = /\.(p12|pfx)$/i;
const GZIP = '\x1f\x8b';
const LOOSE_OBJECT = /(^|\/)objects\/[0-9a-f]{2}\/[0-9a-f]{38,62}$/;
/** What people and editors put behind the name of an old copy. */
const OLD_COPY = /(?:[.~_-](?:bak|backup|old|orig|copy|save|saved|swp|gz|\d+)|~)+$/i;

/**
 * Loads the rules of secretlint, and returns what looks for secrets in a file by them: known shapes of tokens, private keys and
 * addresses with a password. Text is UTF-8, or UTF-16 with a mark; all else is looked at as if it were text. What gzip and
 * Git's loose objects hold is unpacked; of other archives the kind is told. Memory does not grow with the file.
 */
export async function openSecretScan(): Promise<ScanForSecrets> {
  const lint = await openLint();
  return async ({ path, read }) => {
    const head = await headOf(read);
    if (!head.startsWith(GZIP) && !(head.startsWith('x') && LOOSE_OBJECT.test(path)))
      return { findings: await findIn(lint, { path, parts: read(), head }), closed: closedKind(path, head) };
    const unpacked = new Unpacked(read);
    const findings = await findIn(lint, { path, parts: unpacked.parts(), head: '' });
    if (unpacked.trouble === null) return { findings, closed: null };
    return { findings: [...findings, ...(await findIn(lint, { path, parts: read(), head }))], closed: unpacked.trouble };
  };
}

/** What is used of a rule of the library; its docs/secretlint-rule.md has the whole. */
interface LibraryRule {
  readonly meta: { readonly id: string };
  create(
    context: {
      createTranslator(): (message: string) => { readonly message: string };
      report(found: { readonly message: { readonly message: string }; readonly range: readonly [number, number] }): void;
    },
    options: object,
  ): { file?(source: LibrarySource): Promise<void> | undefined };
}

interface LibrarySource {
  readonly content: string;
  readonly filePath: string;
  readonly ext: string;
  readonly contentType: 'text';
}

/**
 * Its rules are called without its core, whose clean-up compares each finding with each other one, so that a megabyte of
 * tokens took minutes, and which puts what was found into texts. Here a finding never is more than the name of its message.
 */
async function openLint(): Promise<Lint> {
  const library = await import('@secretlint/secretlint-rule-preset-recommend');
  const rules = (library.rules as readonly LibraryRule[]).filter(({ meta }) => meta.id !== FILTER);
  return async (content, path) => {
    const filePath = path.replace(OLD_COPY, '') || path;
    // With the extension of a key store, a rule would read a file of this name from the disk.
    const source = { content, filePath, ext: filePath.endsWith('.json') ? '.json' : '', contentType: 'text' } as const;
    const found: { readonly rule: string; readonly at: number }[] = [];
    for (const one of rules) {
      const rule = one.meta.id.replace(LIBRARY_RULES, '');
      const report: Parameters<LibraryRule['create']>[0]['report'] = ({ message: { message }, range: [at] }) => {
        if (!NO_SECRET.has(message) && found.length < MOST_FINDINGS) found.push({ rule, at });
      };
      await one.create({ createTranslator: () => (message) => ({ message }), report }, OPTIONS).file?.(source);
    }
    return found.sort((a, b) => a.at - b.at);
  };
}

/** The first bytes, each as a character. */
async function headOf(read: ScannedFile['read']): Promise<string> {
  for await (const part of read()) return Buffer.from(part.subarray(0, 16)).toString('latin1');
  return '';
}

function closedKind(path: string, head: string): string | null {
  return (
    CLOSED.find(([magic]) => head.startsWith(magic))?.[1] ?? (KEY_STORE.test(path.replace(OLD_COPY, '')) ? 'PKCS #12 key store' : null)
  );
}

/** Parts of what a file holds compressed, up to a limit. */
class Unpacked {
  /** Why not all of it was unpacked, or null. */
  trouble: string | null = null;
  readonly #read: ScannedFile['read'];

  constructor(read: ScannedFile['read']) {
    this.#read = read;
  }

  async *parts(): AsyncGenerator<Uint8Array> {
    let left = MOST_UNPACKED;
    const packed = Readable.from(this.#read());
    const plain = packed.pipe(createUnzip());
    packed.on('error', (error) => plain.destroy(error));
    try {
      for await (const part of plain as AsyncIterable<Buffer>) {
        yield part;
        left -= part.length;
        if (left > 0) continue;
        this.trouble = 'gzip of more than 256 MiB';
        return;
      }
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.trouble = 'damaged gzip';
    } finally {
      packed.destroy();
    }
  }
}

function isDamage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^Z_/.test(error.code);
}

/** Looks at a text in windows that overlap, so that no secret is cut. */
async function findIn(
  lint: Lint,
  { path, parts, head }: { readonly path: string; readonly parts: AsyncIterable<Uint8Array>; readonly head: string },
): Promise<readonly SecretFinding[]> {
  const decoder = new TextDecoder(head.startsWith('\xff\xfe') ? 'utf-16le' : head.startsWith('\xfe\xff') ? 'utf-16be' : 'utf-8');
  const found = new Map<string, SecretFinding>();
  let text = '';
  let line = 1;
  const look = async (): Promise<void> => {
    let at = 0;
    let own = line;
    for (const one of await lint(text, path)) {
      own += linesIn(text, { from: at, to: one.at });
      at = one.at;
      if (found.size < MOST_FINDINGS) found.set(`${String(own)} ${one.rule}`, { rule: one.rule, line: own });
    }
  };
  for await (const part of parts) {
    text += decoder.decode(part, { stream: true });
    if (text.length < WINDOW) continue;
    await look();
    if (found.size >= MOST_FINDINGS) return [...found.values()];
    line += linesIn(text, { from: 0, to: text.length - OVERLAP });
    text = text.slice(-OVERLAP);
  }
  text += decoder.decode();
  await look();
  return [...found.values()].sort((a, b) => a.line - b.line);
}

function linesIn(text: string, { from, to }: { readonly from: number; readonly to: number }): number {
  let lines = 0;
  for (let at = text.indexOf('\n', from); at >= 0 && at < to; at = text.indexOf('\n', at + 1)) lines++;
  return lines;
}
