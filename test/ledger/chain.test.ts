import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { openRoot } from '../../src/actions/session/session.ts';
import { digestOf } from '../../src/core/digest.ts';
import { saveMemory } from '../../src/host/memory.ts';
import { parseChain } from '../../src/ledger/chain.ts';
import { adopted } from '../support/agent.ts';
import { temporary } from '../support/tree.ts';

test('a ledger that goes on from a folded beginning says what one says that is read whole', async () => {
  const { a, home } = await adopted(temporary());
  await fence(a, { drain: 0 });
  await checkpoint(a, { message: 'fenced' });
  const bytes = readFileSync(join(home, '.perdure/ledger.jsonl'));
  const whole = parseChain(bytes);
  for (let count = 1; count <= whole.records.length; count++) {
    const length = whole.records.slice(0, count).reduce((sum, entry) => sum + Buffer.byteLength(entry.line) + 1, 0);
    const prefix = bytes.subarray(0, length);
    const verified = { length, digest: digestOf(prefix), state: parseChain(prefix).state };
    for (const ask of ['records first', 'one record first']) {
      const chain = parseChain(bytes, { verified });
      if (ask === 'records first') expect(chain.records).toEqual(whole.records);
      for (let seq = -1; seq <= whole.records.length; seq++) expect(chain.record(seq)).toEqual(whole.records[seq]);
      expect({ state: chain.state, digests: chain.digests, torn: chain.torn }).toEqual({
        state: whole.state,
        digests: whole.digests,
        torn: 0,
      });
    }
  }
});

test('a beginning that is not the one that was verified is verified again', async () => {
  const { home } = await adopted(temporary());
  const bytes = readFileSync(join(home, '.perdure/ledger.jsonl'));
  const { state } = parseChain(bytes);
  const altered = Buffer.from(bytes);
  const at = altered.indexOf('"epoch":1') >= 0 ? altered.indexOf('"epoch":1') : altered.indexOf('epoch');
  altered[at + 2] = 0x58;
  expect(() => parseChain(altered, { verified: { length: bytes.length, digest: digestOf(bytes), state } })).toThrow();
});

test('a state that another fold made is not gone on from', async () => {
  const { a, home } = await adopted(temporary());
  const { memory, state } = await openRoot(a, home);
  if (memory?.verified === undefined) throw new Error('nothing was verified');
  const { length, digest } = memory.verified;
  const folded = { by: 999_999, state: { ...state, holder: 'nobody' } };
  await saveMemory(a.files, a.hostDirectory, { ...memory, verified: { length, digest, folded } });
  expect((await openRoot(a, home)).state).toEqual(state);
});
