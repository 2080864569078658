import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { descend } from '../../src/actions/descend.ts';
import { openRoot } from '../../src/actions/session/session.ts';
import { isAgentError, type AgentError } from '../../src/core/errors.ts';
import { adopted, acts } from '../support/agent.ts';
import { at } from '../support/host.ts';
import { listing, nativeAgent, temporary } from '../support/tree.ts';

const CANARIES = ['canary-3f9a1c', 'canary-memory', 'canary-task', 'canary-remote'];

function tree(root: string): void {
  nativeAgent(root);
  writeFileSync(join(root, 'private/memory/diary.md'), 'canary-memory\n');
  writeFileSync(join(root, 'private/state/tasks.json'), '{"a":"canary-task"}\n');
  mkdirSync(join(root, 'body/.git'));
  writeFileSync(join(root, 'body/.git/config'), '[remote "origin"]\n\turl = https://me:canary-remote@example.invalid/x.git\n');
}

/** Joined at run time, so that no scanner takes this file for a leak. */
const TOKEN = ['gh', 'p_', 'a1B2'.repeat(9)].join('');
const KEY = ['sk_', 'live_', 'c3D4'.repeat(6)].join('');

/** An agent whose body has a token in an old copy, and two in a directory. */
function careless(root: string): void {
  tree(root);
  mkdirSync(join(root, 'body/old'));
  writeFileSync(join(root, 'body/.env.bak'), `A=1\nTOKEN=${TOKEN}\n`);
  writeFileSync(join(root, 'body/old/a b.txt'), `${KEY}\n${KEY} ${TOKEN}\n`);
  writeFileSync(join(root, 'body/skills.zip'), Buffer.from('PK\x03\x04', 'latin1'));
}

/** All bytes below a directory, packs in clear. */
function bytesBelow(directory: string): string {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
    .join('\n');
}

describe('descend', () => {
  test('a new agent has identity and body, keys and an id of its own, and no private byte of its parent', async () => {
    const { a, home, directory } = await adopted(temporary(), tree);
    const before = listing(home);
    const path = join(directory, 'bea');
    const { session, leftOut, files } = await descend(a, {
      directory: path,
      classes: [],
      recovery: { kit: join(directory, 'bea.kit') },
      proof: false,
    });
    expect(leftOut).toEqual(['body/.git/config', 'private/secrets/chat.env']);
    expect(files).toBe(2);
    expect(existsSync(join(path, 'private/self.json'))).toBe(true);
    expect(existsSync(join(path, 'body/body.yaml'))).toBe(true);
    const parent = await openRoot(a, home);
    expect(session.state.agent).not.toBe(parent.state.agent);
    expect(session.state.recovery).not.toEqual(parent.state.recovery);
    expect(listing(home)).toBe(before);
    expect(await acts(a, home)).toBe(true);
    expect(await acts(a, path)).toBe(true);
    const { recorded } = await checkpoint(at(a, path));
    expect(recorded).toBe(true);
    const all = bytesBelow(path);
    for (const canary of CANARIES) expect(all).not.toContain(canary);
    expect(all).not.toContain(parent.state.agent);
  });

  test('named classes come, too; a proof names the parent only if it is asked for', async () => {
    const { a, home, directory } = await adopted(temporary(), tree);
    const path = join(directory, 'bea');
    const { session } = await descend(a, { directory: path, classes: ['memory'], recovery: null, proof: true });
    expect(readFileSync(join(path, 'private/memory/diary.md'), 'utf8')).toBe('canary-memory\n');
    expect(existsSync(join(path, 'private/state/tasks.json'))).toBe(false);
    const [first] = session.chain.records;
    const parent = await openRoot(a, home);
    expect(first?.record).toMatchObject({
      kind: 'init',
      parent: { agent: parent.state.agent, seq: parent.state.seq, digest: parent.state.head },
    });
  });

  test('a target that is there is refused', async () => {
    const { a, home, directory } = await adopted(temporary(), tree);
    const options = { classes: [], recovery: null, proof: false } as const;
    mkdirSync(join(directory, 'full'));
    writeFileSync(join(directory, 'full/x'), 'mine');
    await expect(descend(a, { ...options, directory: join(directory, 'full') })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await expect(descend(a, { ...options, directory: home })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
    await expect(descend(a, { ...options, directory: join(home, 'body/child') })).rejects.toMatchObject({ code: 'TARGET_OCCUPIED' });
  });

  test('what looks like a secret is refused with its places, never with its text, and nothing is written', async () => {
    const { a, home, directory } = await adopted(temporary(), careless);
    const before = [listing(home), readdirSync(directory)];
    const error = await refusalOf(
      descend({ ...a, cwd: directory }, { directory: 'bea', classes: ['memory'], recovery: { kit: 'bea.kit' }, proof: true }),
    );
    expect(error).toMatchObject({ code: 'SECRET_FOUND' });
    expect(error.message).toBe("the new agent would get 4 probable secrets, in 'body/.env.bak' and 1 more; nothing was written");
    const typed = 'agent descend bea --recovery-kit bea.kit --class memory --proof';
    expect(error.hints).toMatchObject([
      { command: 'agent show 2:body/.env.bak', effect: 'line 2: github' },
      { command: "agent show '2:body/old/a b.txt'", effect: 'lines 1, 2: stripe; line 2: github' },
      { command: `${typed} --without a/ada/body/.env.bak --without 'a/ada/body/old/a b.txt'` },
      { command: `${typed} --accept a/ada/body/.env.bak --accept 'a/ada/body/old/a b.txt'` },
    ]);
    expect(JSON.stringify([error.message, error.hints, error.stack])).not.toMatch(new RegExp(`${TOKEN}|${KEY}`));
    expect([listing(home), readdirSync(directory)]).toEqual(before);
  });

  test('--without leaves files and directories out, --accept lets them go, and both are told', async () => {
    const { a, directory } = await adopted(temporary(), careless);
    const path = join(directory, 'bea');
    const options = { directory: path, classes: [], recovery: null, proof: false } as const;
    const half = await refusalOf(descend(a, { ...options, accept: ['body/.env.bak'] }));
    expect(half.hints.map(({ command }) => command)).toEqual([
      "agent show '2:body/old/a b.txt'",
      `agent descend ${path} --no-recovery --accept body/.env.bak --without 'body/old/a b.txt'`,
      `agent descend ${path} --no-recovery --accept body/.env.bak --accept 'body/old/a b.txt'`,
    ]);
    const { session: _, ...result } = await descend(a, { ...options, accept: ['body/.env.bak'], without: ['body/old'] });
    expect(result).toMatchObject({
      files: 4,
      leftOut: ['body/.git/config', 'private/secrets/chat.env'],
      without: ['body/old'],
      accepted: [{ path: 'body/.env.bak', rule: 'github', line: 2 }],
      notLookedInto: [{ path: 'body/skills.zip', kind: 'zip' }],
    });
    expect(JSON.stringify(result)).not.toMatch(new RegExp(`${TOKEN}|${KEY}`));
    expect(existsSync(join(path, 'body/old'))).toBe(false);
    expect(readFileSync(join(path, 'body/.env.bak'), 'utf8')).toContain(TOKEN);
    expect(bytesBelow(path)).not.toContain(KEY);
  });

  test('a path that the state has not is refused', async () => {
    const { a, directory } = await adopted(temporary(), careless);
    const options = { directory: join(directory, 'bea'), classes: [], recovery: null, proof: false } as const;
    await expect(descend(a, { ...options, without: ['body/none'] })).rejects.toMatchObject({ code: 'PATH_UNKNOWN' });
    await expect(descend(a, { ...options, accept: ['../elsewhere'] })).rejects.toMatchObject({ code: 'PATH_UNKNOWN' });
  });
});

async function refusalOf(done: Promise<unknown>): Promise<AgentError> {
  const error: unknown = await done.catch((reason: unknown) => reason);
  if (!isAgentError(error)) throw new Error('it was not refused', { cause: error });
  return error;
}
