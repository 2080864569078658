import { lstatSync, readlinkSync, type BigIntStats } from 'node:fs';
import { GarbageBudget } from '../core/memory.ts';
import { childPath, fsPath, nameFromBytes, type RelPath } from '../core/name.ts';
import type { Entry } from '../manifest/entry.ts';
import { writeEntry } from '../manifest/tree.ts';
import { attributesOf, flagsOf } from './attributes.ts';
import { isLeftOut, type Captured } from './captured.ts';
import { besideDatabase, unitStat } from './databases/live.ts';
import { FileCapture, type Remembered } from './files/file-capture.ts';
import { blockOf, type KnownDirectory } from './index/scan-index.ts';
import type { ScanOptions } from './scan-options.ts';
import { finishDirectory, unless, type Below, type Subdirectory, type Taken } from './finish.ts';
import { readNames } from './names.ts';
import { isDirectory, stampOf, type Seen } from './stamp.ts';
import { Tally } from './tally.ts';

/** A file whose status changed so shortly before the walk may change again within the same tick of the file system's clock. */
const RACY_NS = 50_000_000n;
/** A directory of more names is not recognised as a whole: what was seen of it would have to be held. */
const RECOGNISED = 4096;

/** So many files may be taken before the directories that they lie in are done. */
const MOST_UNTOLD = 8192;

/** A directory that is finished, and whether all of it is as the index knows it. */
interface Finished extends Below {
  readonly isKnown: boolean;
}

/** What a directory itself holds. Files may still be read. */
interface Own {
  readonly files: { readonly path: RelPath; readonly stat: BigIntStats; readonly captured: Captured | Promise<Captured> }[];
  readonly links: Entry[];
  readonly below: Subdirectory[];
}

/** Walks a tree in order, and finishes each directory when its files are read and those below it are finished. */
export class Walk {
  readonly #options: ScanOptions;
  readonly files: FileCapture;
  readonly tally: Tally;
  /** Whether a directory looks different from what the index knows. */
  learned = false;
  readonly #settledBefore: bigint;
  readonly #memory = new GarbageBudget();
  /** Ends when what the directories met so far hold themselves is in the index, each in its turn. */
  #owned: Promise<unknown> = Promise.resolve();
  /** Files that were taken and are in no directory of the index yet. */
  #untold = 0;
  /** Ends when the directories left so far are finished, each in its turn. */
  #finished: Promise<unknown> = Promise.resolve();

  constructor(options: ScanOptions) {
    this.#options = options;
    this.files = new FileCapture(options);
    this.tally = new Tally(options.profile);
    this.#settledBefore = BigInt(options.clock.now()) * 1_000_000n - RACY_NS;
  }

  /** Walks a directory and all below it; `result` is what it comes to, which may have to wait for files that are read. */
  async directory(path: RelPath): Promise<{ readonly result: Promise<Finished> }> {
    const { index, newIndex, onFiles } = this.#options;
    const tally = new Tally(this.#options.profile);
    const names = this.#names(path, tally);
    const seen = names.length > RECOGNISED ? null : names.map((name): Seen => [name, this.#stat(childPath(path, name), tally)]);
    const old = index?.directory(path) ?? null;
    const stamp = seen === null ? null : stampOf(seen, this.#settledBefore);
    const known = stamp !== null && old?.stamp === stamp && old.count !== null ? { ...old, count: old.count } : null;
    if (stamp !== null && old?.stamp !== stamp) this.learned = true;
    const own =
      known === null
        ? await this.#look(path, seen ?? names, { tally, rows: this.#rows(old) })
        : // The rest is as it was; the subdirectories are needed to go on.
          await this.#look(path, (seen ?? []).filter(isDirectory), { tally: new Tally(this.#options.profile), rows: new Map() });
    const entries = inTurn(this.#owned, async () => {
      const taken = known === null ? await this.#taken(own, tally) : null;
      if (known !== null) tally.addKnown(path, known.count);
      if (known !== null) newIndex?.directory(path, known, known.place);
      else newIndex?.directory(path, { stamp, count: tally.known() }, blockOf(this.#settled(taken ?? [])));
      this.tally.add(tally);
      onFiles?.(tally.counter.included, tally.counter.bytes);
      return taken;
    });
    this.#owned = entries;
    const inner: Promise<Finished>[] = [];
    for (const { path: child } of own.below) inner.push((await this.directory(child)).result);
    const result = inTurn(this.#finished, async () => {
      const below = await Promise.all(inner);
      const isKnown = known !== null && below.every((one) => one.isKnown);
      const whole = index?.whole(path) ?? null;
      let found: Finished;
      if (isKnown && whole !== null) found = { pages: whole.pages, classes: new Map(whole.classes), isKnown };
      else {
        const taken = (await entries) ?? (await this.#takeAgain(path, seen ?? [], known));
        this.#memory.check();
        const { putTree } = this.#options;
        const put = seen === null || whole === null ? putTree : unless(whole.pages, putTree);
        found = { ...(await finishDirectory(path, { taken, subdirectories: own.below, below }, put)), isKnown: false };
      }
      newIndex?.whole(path, { pages: found.pages, classes: [...found.classes] });
      return found;
    });
    this.#finished = result;
    // Where no file is being read, what was walked is let go before more is.
    if (this.#untold === 0) await result;
    return { result };
  }

  /** Looks at names: files are taken, links read, subdirectories noted. */
  async #look(
    path: RelPath,
    names: readonly (string | Seen)[],
    { tally, rows }: { readonly tally: Tally; readonly rows: ReadonlyMap<string, Remembered> },
  ): Promise<Own> {
    const own: Own = { files: [], links: [], below: [] };
    for (const one of names) {
      const [name, stat] = typeof one === 'string' ? ([one, this.#stat(childPath(path, one), tally)] as const) : one;
      const child = childPath(path, name);
      if (stat === null) continue;
      if (stat.isFile()) {
        const room = this.#room();
        if (room !== null) await room;
        const beside = besideDatabase(child, this.#options);
        if (beside === 'left out') {
          tally.counter.volatile++;
          continue;
        }
        this.#untold++;
        own.files.push({ path: child, stat, captured: this.files.take(child, stat, { old: rows.get(name), as: beside }) });
        continue;
      }
      const { class: kind, flags } = this.#options.profile.classify(child);
      const base = { ...attributesOf(name, stat), class: kind, ...flagsOf(flags) };
      if (!stat.isDirectory() && !stat.isSymbolicLink()) {
        tally.counter.special++;
        tally.report('SPECIAL_SKIPPED', child);
      } else if (isLeftOut(kind)) tally.counter[kind]++;
      else if (stat.isDirectory()) {
        tally.include(kind);
        own.below.push({ path: child, entry: { ...base, type: 'directory' } });
      } else {
        const target = this.#tried(child, tally, (link) => nameFromBytes(readlinkSync(link, { encoding: 'buffer' })));
        if (target === null) continue;
        tally.include(kind);
        own.links.push({ ...base, type: 'link', target });
      }
    }
    return own;
  }

  /** Resolves when all that was met is in the index; rejects where it could not be. */
  async settled(): Promise<void> {
    await this.#owned;
  }

  /** Resolves when another file may be taken. Behind a file that takes long not all others may wait in memory. */
  #room(): Promise<unknown> | null {
    return this.files.room() ?? (this.#untold < MOST_UNTOLD ? null : this.#owned);
  }

  /** The entries of what a directory itself holds, when its files are read. */
  async #taken({ files, links }: Own, tally: Tally): Promise<readonly Taken[]> {
    const taken: Taken[] = links.map((entry) => ({ ...writeEntry(entry), entry, stat: null }));
    for (const { path, stat, captured } of files) {
      const one = captured instanceof Promise ? await captured : captured;
      this.#untold--;
      if ('error' in one) tally.failed(path, one.error);
      else if ('leftOut' in one) tally.leaveOut(path, one);
      else {
        tally.file(path, one);
        taken.push({ ...writeEntry(one.entry), entry: one.entry, stat: one.uncopied === undefined ? stat : null });
      }
    }
    return taken;
  }

  /** The entries of a directory that is known, where something below it is not. They were counted. */
  async #takeAgain(path: RelPath, seen: readonly Seen[], known: KnownDirectory | null): Promise<readonly Taken[]> {
    const tally = new Tally(this.#options.profile);
    const others = seen.filter((one) => !isDirectory(one));
    return this.#taken(await this.#look(path, others, { tally, rows: this.#rows(known) }), tally);
  }

  /** What the index notes of files: not what may change again within the same tick. */
  #settled(taken: readonly Taken[]): Parameters<typeof blockOf>[0] {
    const files: Parameters<typeof blockOf>[0][number][] = [];
    for (const { text, stat } of taken)
      if (stat !== null && stat.ctimeNs < this.#settledBefore)
        files.push({ text, mtime: String(stat.mtimeNs), ctime: String(stat.ctimeNs), ino: String(stat.ino) });
    return files;
  }

  #rows(known: KnownDirectory | null): ReadonlyMap<string, Remembered> {
    return (known === null ? null : this.#options.index?.files(known)) ?? new Map();
  }

  #names(path: RelPath, tally: Tally): readonly string[] {
    const names = this.#tried(path, tally, readNames) ?? [];
    const { only } = this.#options;
    return path === '' ? names.filter((name) => name !== '.perdure' && (only === undefined || name === only)) : names;
  }

  #stat(path: RelPath, tally: Tally): BigIntStats | null {
    const { root, databases } = this.#options;
    const stat = this.#tried(path, tally, (target) => lstatSync(target, { bigint: true }));
    if (stat === null || databases?.live.has(path) !== true) return stat;
    // What is written after the copy is seen the next time.
    return databases.seen?.get(path) ?? unitStat(root, path, stat);
  }

  #tried<T>(path: RelPath, tally: Tally, look: (target: string | Buffer) => T): T | null {
    try {
      return look(fsPath(this.#options.root, path));
    } catch (error) {
      tally.failed(path, error);
      return null;
    }
  }
}

/** Runs when what was before it has ended well. A failure is seen by whoever waits for the last one. */
function inTurn<T>(before: Promise<unknown>, run: () => Promise<T>): Promise<T> {
  const turn = before.then(run);
  turn.catch(() => undefined);
  return turn;
}
