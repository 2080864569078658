import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { custodyChange } from '../../src/actions/custody.ts';
import { gc } from '../../src/actions/gc.ts';
import { pack } from '../../src/actions/pack.ts';
import { verify } from '../../src/actions/verify.ts';
import { adopted, nothing } from '../support/agent.ts';
import { has } from '../support/tools.ts';
import { temporary } from '../support/tree.ts';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';

const COMMON = [
  'sh',
  'sha256sum',
  'ssh-keygen',
  'mktemp',
  'rm',
  'cat',
  'cut',
  'sed',
  'grep',
  'sort',
  'tail',
  'fold',
  'paste',
  'cp',
  'dirname',
  'tr',
];
const READERS = ['jq', 'python3', 'node', 'perl'] as const;

/** A PATH with the common tools and one reader of JSON. */
function pathWith(directory: string, reader: string): string {
  const bin = join(directory, `bin-${reader}`);
  mkdirSync(bin, { recursive: true });
  for (const tool of [...COMMON, reader]) {
    const real = execFileSync('sh', ['-c', `command -v ${tool}`])
      .toString()
      .trim();
    // A version manager's shim looks for other programs on PATH.
    if (tool === 'python3') writeFileSync(join(bin, tool), `#!/bin/sh\nPATH='${process.env['PATH'] ?? ''}' exec '${real}' "$@"\n`);
    else if (tool === 'node') symlinkSync(process.execPath, join(bin, tool));
    else symlinkSync(real, join(bin, tool));
    if (tool === 'python3') chmodSync(join(bin, tool), 0o755);
  }
  return bin;
}

describe.runIf(has('ssh-keygen', 'sha256sum'))('verify.sh, which a bundle can carry', () => {
  let bundle = '';
  const directory = mkdtempSync(join(tmpdir(), 'perdure-test-'));
  beforeAll(async () => {
    const stage = await adopted(directory);
    await custodyChange(stage.a, { old: { kit: join(directory, 'ada.kit') }, to: { kit: join(directory, 'new.kit') } });
    for (let at = 0; at < 2; at++) {
      writeFileSync(join(stage.home, `private/memory/more-${String(at)}.md`), `more ${String(at)}\n`);
      await checkpoint(stage.a);
    }
    await gc(stage.a, { keep: { last: 1 }, grace: 0, dryRun: false });
    writeFileSync(join(stage.home, 'private/memory/last.md'), 'last\n');
    await checkpoint(stage.a);
    bundle = join(directory, 'bundle');
    await pack(stage.a, { output: bundle, includeSecrets: false, script: true, write: () => Promise.resolve() });
    expect((await verify(stage.b, { path: bundle, input: nothing() })).status).toBe(0);
    return () => {
      rmSync(directory, { recursive: true, force: true });
    };
  });

  const script = (path: string, reader: string): ReturnType<typeof spawnSync> =>
    spawnSync('sh', [join(path, 'verify.sh')], { env: { PATH: pathWith(temporary(), reader) } });

  test('is the one in docs/format', () => {
    expect(readFileSync(join(bundle, 'verify.sh'), 'utf8')).toBe(readFileSync(resolve('docs/format/verify.sh'), 'utf8'));
  });

  test.each(READERS.filter((reader) => has(reader)))('with %s: passes a whole bundle, second signatures and folds with it', (reader) => {
    const done = script(bundle, reader);
    expect(done.status, `${String(done.stdout)}${String(done.stderr)}`).toBe(0);
    expect(String(done.stdout)).toContain(`verified (read with ${reader}`);
    expect(String(done.stderr)).toBe('');
  });

  const flipped = (name: (file: string) => boolean): string => {
    const copy = join(temporary(), 'bundle');
    cpSync(bundle, copy, { recursive: true });
    const file = readdirSync(copy, { recursive: true }).map(String).sort().find(name) ?? '';
    const bytes = readFileSync(join(copy, file));
    bytes[Math.floor(bytes.length / 2)] = (bytes[Math.floor(bytes.length / 2)] ?? 0) ^ 1;
    writeFileSync(join(copy, file), bytes);
    return copy;
  };

  test.each([
    ['a pack', (file: string): boolean => file.startsWith('packs/') && file.endsWith('.age')],
    ['a manifest', (file: string): boolean => file.startsWith('manifests/')],
    ['a pack list', (file: string): boolean => file.startsWith('packlists/')],
    ['an envelope', (file: string): boolean => file.startsWith('keys/')],
    ['the ledger', (file: string): boolean => file === 'ledger.jsonl'],
  ])('finds one altered bit in %s', (_, name) => {
    const done = script(flipped(name), 'node');
    expect(done.status).not.toBe(0);
  });

  test('finds a pack that is missing', () => {
    const copy = join(temporary(), 'bundle');
    cpSync(bundle, copy, { recursive: true });
    const last = readFileSync(join(copy, 'ledger.jsonl'), 'utf8').trim().split('\n').at(-1) ?? '';
    const { manifest } = JSON.parse((JSON.parse(last) as { record: string }).record) as { manifest: string };
    const { facts } = JSON.parse(readFileSync(join(copy, `manifests/${manifest}.json`), 'utf8')) as { facts: string };
    rmSync(join(copy, `packs/${facts.slice(0, 2)}/${facts}.age`));
    const done = script(copy, 'node');
    expect(done.status).toBe(1);
    expect(String(done.stdout)).toContain(`pack ${facts} of the newest state is missing`);
  });
});
