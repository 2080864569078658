import { byCodeUnit } from '../core/order.ts';
import { parseJson } from '../core/canonical.ts';
import { DOCUMENT_FILE, FORM_FILE, SELF_FILE } from './form.ts';

/** Something of an agent that an agent file has no place for. */
export interface LeftOut {
  readonly what: string;
  readonly count: number;
  /** The first of them. */
  readonly paths: readonly string[];
}

/** So many paths are named. */
const NAMED = 10;

/** What each part of the native layout is called where it is not in an agent file; the first that fits. */
const KINDS: readonly (readonly [string, string])[] = [
  ['private/secrets/', 'values of secrets'],
  ['private/state/', 'schedules, queues and other state'],
  ['private/config', 'configuration that is not of Letta'],
  ['private/memory/', 'memory that is neither a block nor the message log'],
  ['body/tools/', 'tools without a schema beside them'],
  ['body/', 'other parts of the body'],
  ['artifacts/', 'artifacts'],
  ['', 'other files'],
];

/** Lists what of a tree is not in an agent file that was made of it, in the order of the layout. */
export function leftOut({
  paths,
  used,
  self,
  hasLedger,
}: {
  readonly paths: readonly string[];
  readonly used: ReadonlySet<string>;
  /** The text of private/self.json. */
  readonly self: string | undefined;
  readonly hasLedger: boolean;
}): readonly LeftOut[] {
  const kinds = new Map<string, string[]>();
  for (const path of [...paths].sort(byCodeUnit)) {
    if (used.has(path) || path === DOCUMENT_FILE || path === FORM_FILE || path === SELF_FILE) continue;
    const kind = KINDS.find(([start]) => path.startsWith(start))?.[1] ?? 'other files';
    kinds.set(kind, [...(kinds.get(kind) ?? []), path]);
  }
  const members = Object.keys(Object(parseJson(self ?? '{}')) as object).filter((one) => !['name', 'description', 'system'].includes(one));
  return [
    { what: 'archival passages, runs and schedules that a Letta server keeps', count: 0, paths: [] },
    ...(hasLedger ? [{ what: 'the ledger and earlier states', count: 0, paths: [] }] : []),
    ...(members.length === 0 ? [] : [{ what: 'other members of the identity', count: members.length, paths: members.slice(0, NAMED) }]),
    ...KINDS.flatMap(([, what]) => {
      const found = kinds.get(what) ?? [];
      return found.length === 0 ? [] : [{ what, count: found.length, paths: found.slice(0, NAMED) }];
    }),
  ];
}
