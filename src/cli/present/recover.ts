import type { RecoverPlan } from '../../actions/recover.ts';
import { count, firstLines, showAge } from '../text.ts';

/** Says what came of `agent recover`, for a person. */
export function consequenceOf({ name, seq, at, age, dropped, offeredTo }: RecoverPlan): string {
  return [
    `'${name}' goes on from record ${String(seq)} of ${at}, ${showAge(age)} old: what came after is not in it`,
    ...(dropped.length === 0
      ? []
      : [
          `given up for good: ${dropped.map((one) => `record ${String(one.seq)} (${one.digest.slice(0, 12)})`).join(', ')}, which this host has seen`,
        ]),
    'the old host would still act if it came back without seeing this ledger: you say that it does not',
    ...(offeredTo === null
      ? []
      : [`it is offered to host …${offeredTo.slice(-8)}, which can still take it over: you say that it never did and never will`]),
  ].join('; ');
}

/** Says what came of `agent recover`, for a person. */
export function credentialNotes(secrets: readonly string[]): readonly string[] {
  if (secrets.length === 0) return [];
  return [
    `the lost host has these credentials, too; change them (${count(secrets.length, 'file')}):`,
    ...firstLines(
      secrets.map((path) => `  ${path}`),
      50,
    ),
  ];
}
