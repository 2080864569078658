import { chmodSync, lstatSync } from 'node:fs';
import { ROOT_PATH, fsPath, type RelPath } from '../core/name.ts';
import { microsecondsOf } from '../manifest/entry.ts';
import { setTime } from './times.ts';

/** Directories that are written into while the tree changes, and get mode and time back afterwards, the deepest first. */
export class OpenedDirectories {
  readonly #root: string;
  readonly #kept = new Map<RelPath, { readonly mode: number; readonly mtime: string }>();

  constructor(root: string) {
    this.#root = root;
  }

  open(path: RelPath): void {
    if (this.#kept.has(path)) return;
    const target = fsPath(this.#root, path);
    const stat = lstatSync(target, { bigint: true, throwIfNoEntry: false });
    if (stat?.isDirectory() !== true) return;
    const mode = Number(stat.mode & 0o7777n);
    this.#kept.set(path, { mode, mtime: microsecondsOf(stat.mtimeNs) });
    if ((mode & 0o300) !== 0o300) chmodSync(target, mode | 0o700);
  }

  wanted(path: RelPath, attributes: { readonly mode: number; readonly mtime: string }): void {
    this.#kept.set(path, attributes);
    chmodSync(fsPath(this.#root, path), attributes.mode | 0o700);
  }

  close(): void {
    for (const [path, { mode, mtime }] of [...this.#kept].sort(([a], [b]) => b.length - a.length)) {
      const target = fsPath(this.#root, path);
      if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() !== true) continue;
      chmodSync(target, mode);
      if (path !== ROOT_PATH) setTime(target, mtime);
    }
  }
}
