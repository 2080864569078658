import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { gc } from '../../src/actions/gc.ts';
import { pack } from '../../src/actions/pack.ts';
import { adopted } from '../support/agent.ts';
import { has } from '../support/tools.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

/** The commands of the page, as they stand there. */
const page = /```sh by-hand\n([^]*?)```/.exec(readFileSync('docs/format/by-hand.md', 'utf8'))?.[1] ?? '';

function byHand(bundle: string, key: string, file: string): ReturnType<typeof spawnSync> {
  return spawnSync('sh', ['-c', page], { env: { ...process.env, BUNDLE: bundle, KEY: key, FILE: file }, maxBuffer: 1 << 28 });
}

describe.runIf(has('age', 'brotli', 'jq'))('docs/format/by-hand.md, followed to the letter', () => {
  test('brings a small file, a long one and a secret back, before and after a fold', async () => {
    const directory = temporary();
    const stage = await adopted(directory, (root) => {
      nativeAgent(root);
      // What begins as a database does is cut small: more chunks than a file entry names itself.
      const rows = Array.from({ length: 150_000 }, (_, at) => `row ${String(at)} of a long story\n`).join('');
      writeFileSync(join(root, 'private/memory/long.db'), `SQLite format 3\0${rows}`);
    });
    writeFileSync(join(stage.home, 'private/memory/note-1.md'), 'altered\n');
    await checkpoint(stage.a);
    const bundle = join(directory, 'nas');
    const key = join(directory, 'key');
    writeFileSync(key, `${/^AGE-SECRET-KEY-.*$/m.exec(readFileSync(join(directory, 'ada.kit'), 'utf8'))?.[0] ?? ''}\n`);
    const files = ['private/memory/note-1.md', 'private/secrets/chat.env', 'body/body.yaml'];
    for (let round = 0; round < 2; round++) {
      await pack(stage.a, { output: bundle, includeSecrets: false, write: () => Promise.resolve() });
      for (const file of round === 0 ? [...files, 'private/memory/long.db'] : files) {
        const done = byHand(bundle, key, file);
        expect(done.status, `${file}: ${String(done.stderr)}`).toBe(0);
        expect(done.stdout).toEqual(readFileSync(join(stage.home, file)));
      }
      await gc(stage.a, { keep: { last: 1 }, grace: 0, dryRun: false });
    }
    expect(byHand(bundle, key, 'private/memory/no-such.md').status).not.toBe(0);
  });
});
