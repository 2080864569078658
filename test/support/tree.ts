import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A temporary directory for one test, or for those of a file where it is made before them. */
export function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-test-'));
  const remove = (): void => {
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    onTestFinished(remove);
  } catch {
    // Made for all tests of a file.
    process.once('exit', remove);
  }
  return directory;
}

/** What lies in a tree but for the control directory: type, mode, microseconds, links, contents. One line a path. */
export function listing(root: string): string {
  const lines: string[] = [];
  const visit = (path: Buffer, name: string): void => {
    const stat = lstatSync(path, { bigint: true });
    const floor = stat.mtimeNs / 1000n - (stat.mtimeNs % 1000n < 0n ? 1n : 0n);
    const what = stat.isDirectory()
      ? 'd'
      : stat.isSymbolicLink()
        ? `l ${readlinkSync(path, 'latin1')}`
        : stat.isFile()
          ? `f ${createHash('sha256').update(readFileSync(path)).digest('hex')}`
          : 'other';
    lines.push(`${name} ${(stat.mode & 0o7777n).toString(8)} ${String(floor)} ${what}`);
    if (!stat.isDirectory()) return;
    for (const entry of readdirSync(path, { encoding: 'buffer' }))
      if (name !== '.' || entry.toString() !== '.perdure')
        visit(Buffer.concat([path, Buffer.from('/'), entry]), `${name}/${entry.toString('latin1')}`);
  };
  visit(Buffer.from(root), '.');
  return lines.sort().join('\n');
}

/** A small native agent. */
export function nativeAgent(root: string): void {
  for (const directory of ['body', 'private/memory', 'private/state', 'private/secrets', 'artifacts'])
    mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, 'body/body.yaml'), 'package: ada-body\n');
  writeFileSync(join(root, 'private/self.json'), '{"format":"perdure/self/1","version":1,"designation":"Ada"}\n');
  for (let at = 0; at < 5; at++) writeFileSync(join(root, `private/memory/note-${String(at)}.md`), `note ${String(at)}\n`);
  writeFileSync(join(root, 'private/memory/long.jsonl'), '{"a":1}\n'.repeat(50_000));
  writeFileSync(join(root, 'private/secrets/chat.env'), 'TOKEN=canary-3f9a1c\n');
  writeFileSync(join(root, 'artifacts/today.log'), 'log\n');
}
