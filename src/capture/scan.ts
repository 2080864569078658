import { lstatSync, readdirSync, readlinkSync, type BigIntStats } from 'node:fs';
import { digestOf, type Digest } from '../core/digest.ts';
import { GarbageBudget } from '../core/memory.ts';
import { ROOT_PATH, childPath, fsPath, nameFromBytes, storeName, type RelPath } from '../core/name.ts';
import { byCodeUnit } from '../core/order.ts';
import type { Counter } from '../manifest/coverage.ts';
import { contentOf, microsecondsOf, type Entry } from '../manifest/entry.ts';
import type { Finding, SecretSheet } from '../manifest/facts.ts';
import { writeDirectory } from '../manifest/tree.ts';
import type { FileClass } from '../profile/profile.ts';
import { attributesOf, flagsOf, modeOf } from './attributes.ts';
import { FileCapture, type Remembered } from './file-capture.ts';
import type { ScanOptions } from './scan-options.ts';
import { Tally } from './tally.ts';

/** What was found on disk. */
export interface ScanResult {
  readonly root: { readonly name: string; readonly mode: number; readonly mtime: string; readonly pages: readonly Digest[] };
  /** Digest of each class but secret. */
  readonly classes: ReadonlyMap<FileClass, Digest>;
  readonly counts: ReadonlyMap<FileClass, number>;
  readonly secrets: SecretSheet['files'];
  readonly counter: Counter;
  /** Paths that nothing could read, special files, and files that kept changing. */
  readonly findings: readonly Finding[];
  /** Files with an SQLite header. */
  readonly databases: readonly RelPath[];
}

/** A file whose status changed so shortly before the walk may change again within the same tick of the file system's clock. */
const RACY_NS = 50_000_000n;

/** Bytes that an entry leaves behind for the collector, roughly: its status in big integers, its lines, its page. */
const ENTRY_GARBAGE = 4096;

type ClassLines = Map<FileClass, string[]>;
interface Below {
  readonly path: RelPath;
  readonly name: string;
  readonly stat: BigIntStats;
  readonly class: FileClass;
  readonly flags: readonly string[];
}

/** Reads a live tree, directory by directory: links are stored, never followed; FIFOs, sockets and devices never opened. */
export async function scan(options: ScanOptions): Promise<ScanResult> {
  const tally = new Tally(options.profile, options.onFile ?? (() => undefined));
  const stat = lstatSync(options.root, { bigint: true });
  const top = await new Walk(options, tally).directory(ROOT_PATH);
  const classes = new Map<FileClass, Digest>();
  for (const [name, lines] of top.lines) if (name !== 'secret') classes.set(name, digestOf(lines.join('\n')));
  const { counts, secrets, counter, findings, databases } = tally;
  return {
    root: { name: options.rootName, mode: modeOf(stat), mtime: microsecondsOf(stat.mtimeNs), pages: top.pages },
    classes,
    counts,
    secrets,
    counter,
    findings,
    databases,
  };
}

class Walk {
  readonly #options: ScanOptions;
  readonly #tally: Tally;
  readonly #files: FileCapture;
  readonly #settledBefore: bigint;
  readonly #memory = new GarbageBudget();

  constructor(options: ScanOptions, tally: Tally) {
    this.#options = options;
    this.#tally = tally;
    this.#files = new FileCapture(options, tally);
    this.#settledBefore = BigInt(options.clock.now()) * 1_000_000n - RACY_NS;
  }

  async directory(path: RelPath): Promise<{ readonly pages: readonly Digest[]; readonly lines: ClassLines }> {
    const { rootName, index, newIndex, putTree } = this.#options;
    const old = index?.directory(rootName, path);
    const entries: Entry[] = [];
    const indexed: Remembered[] = [];
    const below: Below[] = [];
    for (const name of this.#names(path)) {
      const child = childPath(path, name);
      const stat = this.#stat(child);
      if (stat === null) continue;
      if (stat.isFile()) {
        const entry = await this.#files.take(child, stat, old?.get(name));
        if (entry === null) continue;
        entries.push(entry);
        if (stat.ctimeNs < this.#settledBefore)
          indexed.push({
            entry,
            stamp: { size: entry.size, mtime: String(stat.mtimeNs), ctime: String(stat.ctimeNs), ino: String(stat.ino) },
          });
        continue;
      }
      const known = this.#options.profile.classify(child);
      if (!stat.isDirectory() && !stat.isSymbolicLink()) {
        this.#tally.counter.special++;
        this.#tally.report('SPECIAL_SKIPPED', child);
      } else if (this.#tally.leavesOut(known.class)) continue;
      else if (stat.isDirectory()) below.push({ path: child, name, stat, class: known.class, flags: known.flags });
      else {
        const link = this.#link(child, stat, known);
        if (link !== null) entries.push(link);
      }
    }
    newIndex?.directory(rootName, path, indexed);
    const lines: ClassLines = new Map();
    for (const entry of entries)
      if (!isGitNoise(childPath(path, entry.name))) add(lines, entry.class, `${nameKey(entry.name)} ${contentOf(entry)}`);
    for (const one of below) entries.push(await this.#below(one, lines));
    this.#memory.released(entries.length * ENTRY_GARBAGE);
    entries.sort((a, b) => byCodeUnit(a.name, b.name));
    for (const list of lines.values()) list.sort();
    return { pages: await writeDirectory(entries, putTree), lines };
  }

  async #below({ path, name, stat, class: kind, flags }: Below, lines: ClassLines): Promise<Entry> {
    const inner = await this.directory(path);
    this.#tally.include(kind);
    if (!isGitNoise(path)) {
      add(lines, kind, `${nameKey(name)} directory ${String(modeOf(stat))}`);
      for (const [one, list] of inner.lines) add(lines, one, `${nameKey(name)} ${digestOf(list.join('\n'))}`);
    }
    return { ...attributesOf(name, stat), class: kind, ...flagsOf(flags), type: 'directory', pages: inner.pages };
  }

  #link(
    path: RelPath,
    stat: BigIntStats,
    { class: kind, flags }: { readonly class: FileClass; readonly flags: readonly string[] },
  ): Entry | null {
    try {
      const target = nameFromBytes(readlinkSync(fsPath(this.#options.root, path), { encoding: 'buffer' }));
      this.#tally.include(kind);
      return { ...attributesOf(path.slice(path.lastIndexOf('/') + 1), stat), class: kind, ...flagsOf(flags), type: 'link', target };
    } catch (error) {
      this.#tally.failed(path, error);
      return null;
    }
  }

  #names(path: RelPath): readonly string[] {
    try {
      const names = readdirSync(fsPath(this.#options.root, path), { encoding: 'buffer' }).map(nameFromBytes).sort();
      return path === '' ? names.filter((name) => name !== '.perdure') : names;
    } catch (error) {
      this.#tally.failed(path, error);
      return [];
    }
  }

  #stat(path: RelPath): BigIntStats | null {
    try {
      return lstatSync(fsPath(this.#options.root, path), { bigint: true });
    } catch (error) {
      this.#tally.failed(path, error);
      return null;
    }
  }
}

function nameKey(name: string): string {
  return JSON.stringify(storeName(name));
}

function add(lines: ClassLines, name: FileClass, line: string): void {
  const list = lines.get(name);
  if (list === undefined) lines.set(name, [line]);
  else list.push(line);
}

/** Git's index, logs and heads of fetches change without the body changing. */
function isGitNoise(path: string): boolean {
  return /(^|\/)\.git\/(index|logs|[A-Z_]*_HEAD|COMMIT_EDITMSG|gc\.log)$/.test(path);
}
