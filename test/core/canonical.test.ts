import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonical, type Json } from '../../src/core/canonical.ts';

const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.maxSafeInteger(),
    fc.string({ unit: 'grapheme' }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
})).value;

test('canonical text is that of RFC 8785 for all that the formats hold', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonical(value)).toBe(canonicalize(value));
    }),
  );
});

test('canonical text reads back as the same value', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(canonical(JSON.parse(canonical(value)) as Json)).toBe(canonical(value));
    }),
  );
});

test('a number that JSON cannot hold exactly is refused', () => {
  expect(() => canonical(2 ** 53)).toThrow('no canonical form');
  expect(() => canonical(0.5)).toThrow('no canonical form');
  expect(() => canonical({ b: 1, a: 0.5 })).toThrow('no canonical form');
  expect(() => canonical([{ b: [NaN], a: 1 }])).toThrow('no canonical form');
});
