import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../src/core/digest.ts';
import { isAgentError } from '../../src/core/errors.ts';
import { parseChain } from '../../src/ledger/chain.ts';
import { parseInvite, parseReply } from '../../src/ledger/message.ts';
import { readDirectory } from '../../src/manifest/tree.ts';

const readers: Record<string, (bytes: Buffer) => unknown> = {
  ledger: (bytes) => parseChain(bytes),
  invite: parseInvite,
  reply: parseReply,
  tree: async (bytes) => {
    for await (const entry of readDirectory([digestOf(bytes)], () => Promise.resolve(bytes))) expect(entry.name).not.toBe('');
  },
};

describe.each(Object.entries(readers))('the vectors of %s', (kind, read) => {
  const names = readdirSync(`test/vectors/${kind}`);
  test.each(names)('%s', async (name) => {
    const bytes = readFileSync(`test/vectors/${kind}/${name}`);
    const expected = /^expect: (\S+)$/m.exec(bytes.toString('latin1'))?.[1];
    const body = bytes.subarray(bytes.indexOf('\n\n') + 2);
    const found = await Promise.resolve()
      .then(() => read(body))
      .then(
        () => 'ok',
        (error: unknown) => (isAgentError(error) ? error.code : String(error)),
      );
    expect(found).toBe(expected);
  });
});

test('every flipped bit of a ledger is found', () => {
  const bytes = readFileSync('test/vectors/ledger/move.txt');
  const body = bytes.subarray(bytes.indexOf('\n\n') + 2);
  for (let at = 0; at < body.length; at++) {
    const flipped = Buffer.from(body);
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    expect(() => parseChain(flipped), `byte ${String(at)}`).toThrow();
  }
});

test('every beginning of a ledger that is cut is found or is an older ledger', () => {
  const bytes = readFileSync('test/vectors/ledger/move.txt');
  const body = bytes.subarray(bytes.indexOf('\n\n') + 2);
  const whole = parseChain(body);
  for (let length = 1; length < body.length; length++) {
    const cut = body.subarray(0, length);
    if (cut.at(-1) !== 0x0a) expect(() => parseChain(cut)).toThrow();
    else expect(parseChain(cut).digests).toEqual(whole.digests.slice(0, parseChain(cut).digests.length));
  }
});
