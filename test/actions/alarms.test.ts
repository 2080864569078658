import { appendFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { verifyBetween } from '../../src/actions/between.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { adopted, inviteOf, acts } from '../support/agent.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

describe('what may not happen silently', () => {
  test.each([
    [
      'MEMORY_VANISHED',
      (home: string) => {
        rmSync(join(home, 'private/memory/note-1.md'));
      },
    ],
    [
      'MEMORY_EMPTIED',
      (home: string) => {
        writeFileSync(join(home, 'private/memory/note-1.md'), '');
      },
    ],
    [
      'MEMORY_SHRUNK',
      (home: string) => {
        writeFileSync(join(home, 'private/memory/long.jsonl'), '{"a":1}\n');
      },
    ],
    [
      'IDENTITY_CHANGED',
      (home: string) => {
        writeFileSync(join(home, 'private/self.json'), '{"version":2}\n');
      },
    ],
    [
      'BODY_CHANGED',
      (home: string) => {
        writeFileSync(join(home, 'body/body.yaml'), 'package: other\n');
      },
    ],
  ])('%s is an alarm: the checkpoint is written, and no offer is made until it is declared', async (code, change) => {
    const { a, b, home } = await adopted(temporary());
    change(home);
    const { recorded, newAlarms, complete } = await checkpoint(a);
    expect({ recorded, complete, codes: newAlarms.map((one) => one.code) }).toEqual({ recorded: true, complete: false, codes: [code] });
    // It is as incomplete the next time, though nothing changed.
    expect(await checkpoint(a)).toMatchObject({ recorded: false, complete: false });
    const target = { invite: await inviteOf(b) };
    await expect(fence(a, { to: target, acceptNew: true, drain: 0 })).rejects.toMatchObject({ code: 'ALARM_OPEN' });
    expect(await acts(a, home)).toBe(true);
    expect((await verifyBetween(a, 'HEAD~1..HEAD')).status).toBe(18);
    const kind = code === 'IDENTITY_CHANGED' ? 'identity-update' : code === 'BODY_CHANGED' ? 'evolve' : 'memory-repair';
    const declared = await checkpoint(a, { declare: [kind] });
    expect(declared.facts.alarms).toEqual([]);
    expect((await verifyBetween(a, 'HEAD~2..HEAD')).status).toBe(0);
    await fence(a, { to: target, acceptNew: true, drain: 0 });
    expect(await acts(a, home)).toBe(false);
  });

  test('a JSON file that no longer parses', async () => {
    const { a, home } = await adopted(temporary(), writeTree);
    writeFileSync(join(home, 'private/state/tasks.json'), '{"tasks":[');
    expect((await checkpoint(a)).newAlarms.map((one) => one.code)).toEqual(['MEMORY_UNPARSABLE']);
  });
});

describe('what may', () => {
  test('a memory that grows, a file that is renamed, a queue that empties', async () => {
    const { a, home } = await adopted(temporary(), writeTree);
    appendFileSync(join(home, 'private/memory/long.jsonl'), '{"a":2}\n');
    renameSync(join(home, 'private/memory/note-1.md'), join(home, 'private/memory/note-one.md'));
    writeFileSync(join(home, 'private/state/queue.json'), '');
    const { newAlarms, complete } = await checkpoint(a);
    expect(newAlarms).toEqual([]);
    expect(complete).toBe(true);
  });

  test('a file that comes back settles its alarm without a declaration', async () => {
    const { a, home } = await adopted(temporary());
    const path = join(home, 'private/memory/note-1.md');
    rmSync(path);
    await checkpoint(a);
    writeFileSync(path, 'note 1\n');
    expect((await checkpoint(a)).facts.alarms).toEqual([]);
  });
});

function writeTree(root: string): void {
  nativeAgent(root);
  writeFileSync(join(root, 'private/state/tasks.json'), '{"tasks":[]}\n');
  writeFileSync(join(root, 'private/state/queue.json'), '[1]\n');
}
