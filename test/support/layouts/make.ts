import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Which of two layouts a program had: before and after it moved its state. */
type Era = 'old' | 'new';

/** What a made tree looks like, and the home directory that its absolute paths begin with; the tree should lie below it. */
export interface LayoutOptions {
  readonly era: Era;
  readonly home: string;
}

/** Makes small trees that look like those of real programs. */
export class Maker {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
    mkdirSync(root, { recursive: true });
  }

  /** Writes a file, with the directories above it. */
  file(path: string, content: string | Buffer, mode = 0o644): void {
    writeFileSync(this.#place(path), content, { mode });
  }

  /** Writes several text files. */
  files(contents: Readonly<Record<string, string>>): void {
    for (const [path, content] of Object.entries(contents)) this.file(path, content);
  }

  /** Writes a file that only its owner may read. */
  secret(path: string, content: unknown): void {
    this.file(path, typeof content === 'string' ? content : `${JSON.stringify(content, null, 2)}\n`, 0o600);
  }

  json(path: string, value: unknown): void {
    this.file(path, `${JSON.stringify(value, null, 2)}\n`);
  }

  /** Writes one JSON value a line. */
  lines(path: string, values: readonly unknown[]): void {
    this.file(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''));
  }

  link(path: string, target: string): void {
    symlinkSync(target, this.#place(path));
  }

  /** Makes a database in WAL mode by the program sqlite3. */
  database(path: string, sql: string): void {
    execFileSync('sqlite3', ['-bail', this.#place(path), `PRAGMA journal_mode=WAL; ${sql}`], { stdio: ['ignore', 'pipe', 'inherit'] });
  }

  /** Makes what looks like the directory of a git repository with one commit, a remote, a hook and a lock that was left. */
  repository(path: string, remote: string): void {
    const commit = createHash('sha1').update(path).digest('hex');
    this.files({
      [`${path}/.git/HEAD`]: 'ref: refs/heads/main\n',
      [`${path}/.git/config`]: `[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = ${remote}\n`,
      [`${path}/.git/refs/heads/main`]: `${commit}\n`,
      [`${path}/.git/logs/HEAD`]: `${'0'.repeat(40)} ${commit} ada <ada@example.invalid> 1780000000 +0000\tcommit (initial)\n`,
      [`${path}/.git/objects/${commit.slice(0, 2)}/${commit.slice(2)}`]: 'x\u0001K',
      [`${path}/.git/index.lock`]: '',
    });
    this.file(`${path}/.git/hooks/post-commit`, '#!/bin/sh\nexit 0\n', 0o755);
  }

  #place(path: string): string {
    const target = join(this.root, path);
    mkdirSync(dirname(target), { recursive: true });
    return target;
  }
}

/** A canary that stands where a credential would; it is none of any provider. */
export function canary(name: string): string {
  return `CANARY-${name}`;
}

/** A text as an SQL literal. */
export function sql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
