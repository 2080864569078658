import { describe, expect, test } from 'vitest';
import { CONDITIONS, type Condition } from '../../src/ledger/conditions.ts';
import { actors, moves, without } from './model.ts';
import { firstWorld, RULES, type Rules, type World } from './world.ts';
import { explore } from './explore.ts';

describe('the exhaustive search over the rules of authority', () => {
  test('at most one root may act, whatever is copied, restored, replayed or cut, within five moves', () => {
    const found = explore(RULES, { depth: 5, limit: 1_000_000 });
    expect(found.broken).toBeNull();
    expect(found.exhausted).toBe(true);
    expect(found.worlds).toBeGreaterThan(100_000);
  });

  test('nor within six, without restored host directories and checkpoints', () => {
    const found = explore({ ...RULES, restores: false, checkpoints: false }, { depth: 6, limit: 1_000_000 });
    expect(found.broken).toBeNull();
    expect(found.exhausted).toBe(true);
  });

  test('nor where recovery keys revoke and recover, as long as what a person says of the other hosts is true', () => {
    const found = explore({ ...RULES, custody: true, checkpoints: false }, { depth: 4, limit: 1_000_000 });
    expect(found.broken).toBeNull();
    expect(found.exhausted).toBe(true);
    expect(found.worlds).toBeGreaterThan(20_000);
  });

  test('nor on long random walks', () => {
    let random = 12345;
    const next = (below: number): number => (random = (random * 1103515245 + 12345) % 2147483648) % below;
    for (let walk = 0; walk < 400; walk++) {
      let world: World = firstWorld();
      const path: string[] = [];
      for (let step = 0; step < 25; step++) {
        const rules = { ...RULES, custody: walk % 2 === 1 };
        const options = moves(world, rules);
        const move = options[next(options.length)];
        if (move === undefined) break;
        world = move.world;
        path.push(move.name);
        const acting = actors(world, rules);
        expect(acting.length, path.join('\n')).toBeLessThanOrEqual(world.truth.stopped ? 0 : 1);
      }
    }
  });

  test.each(CONDITIONS.map((one) => one.name))("without the condition '%s' it fails", (name) => {
    expect(explore(without(name), { depth: 5, limit: 400_000 }).broken).not.toBeNull();
  });

  const altered = (change: (one: Condition) => Condition | null): Rules => ({
    ...RULES,
    conditions: CONDITIONS.flatMap((one) => change(one) ?? []),
  });

  test('an offer that names nobody breaks it', () => {
    const rules = altered((one) => (one.name === 'target' ? { ...one, holds: (state) => state.offer !== null } : one));
    expect(explore(rules, { depth: 6, limit: 400_000 }).broken).not.toBeNull();
  });

  test('an expiry that gives authority back to the source breaks it', () => {
    const rules = altered((one) =>
      one.name === 'unoffered' ? { ...one, actions: one.actions.filter((action) => action !== 'resume') } : one,
    );
    expect(explore(rules, { depth: 6, limit: 400_000 }).broken).not.toBeNull();
  });

  test('a host that accepts an older chain breaks it', () => {
    const rules = altered((one) => (one.name === 'seen' ? { ...one, holds: (_, host) => host.seen !== 'diverged' } : one));
    expect(explore(rules, { depth: 6, limit: 400_000 }).broken).not.toBeNull();
  });

  test('an append that does not note the record as pending first breaks it', () => {
    expect(explore({ ...RULES, order: ['claim', 'append', 'settle'] }, { depth: 5, limit: 400_000 }).broken).not.toBeNull();
  });
});
