import { canonical, type Json } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { profileExtensionValid, profileValid } from '../core/generated/validators.js';
import { compileGlob } from './glob.ts';

/** What a file is. */
export type FileClass = 'identity' | 'memory' | 'workflow' | 'config' | 'secret' | 'body' | 'artifact' | 'host' | 'volatile';

/** What the first bytes of a file say. */
export type FileHeader = 'sqlite' | 'appledouble' | 'zeros';

interface ProfileRule {
  readonly match: string;
  readonly class?: FileClass;
  readonly flags?: readonly string[];
  /** The rule holds only for files that begin so. */
  readonly header?: 'sqlite' | 'appledouble';
}

/** A profile as data; docs/format/profile.md is its specification. */
export interface ProfileData {
  readonly format: 'perdure-profile/1';
  readonly name: string;
  readonly about: string;
  readonly identity: 'declared' | 'recorded';
  readonly body: 'declared' | 'recorded';
  readonly rules: readonly ProfileRule[];
  readonly fallback: { readonly class: FileClass; readonly flags?: readonly string[] };
  readonly context: { readonly identity: readonly string[]; readonly body: readonly string[] };
  readonly stop: readonly (readonly string[])[];
  readonly start: readonly (readonly string[])[];
  /** Commands by which the agent's own program says, after a move, that it is well. */
  readonly wake?: readonly WakeCommand[];
  /** Where sessions are: files, or the rows of a table. */
  readonly sessions?: readonly { readonly match: string; readonly table?: string }[];
  readonly requires: readonly Requirement[];
  readonly bodyDirectory?: string;
  /** Layouts: each a list of globs that all find something. */
  readonly detect?: readonly (readonly string[])[];
  /** Directories of which each is an agent of the instance, where there may be several. */
  readonly agents?: readonly string[];
  /** What belongs to the agent and lies outside of its root. */
  readonly outside?: readonly OutsideRule[];
  /** Where absolute paths stand that a move makes wrong. */
  readonly relocate?: readonly Relocation[];
  /** What is done once on the new host. */
  readonly onMove?: readonly MoveAction[];
  /** What a person has to do again on the new host. */
  readonly redo?: readonly { readonly match: string; readonly about: string }[];
}

/** A command, or one for each file that matches: `{copy}` is a copy of it as a database, `{path}` it itself, `{1}` the first name of its path. */
export type WakeCommand = readonly string[] | { readonly each: string; readonly run: readonly string[] };

/**
 * What an agent finds on its host: a program, of at least a version or the one that the newest file of some says that it was written by;
 * variables that its configuration names; an item of the keychain; a login, of which a command tells. Without a program a rehydrate refuses,
 * unless it is for running alone.
 */
export type Requirement =
  | { readonly tool: string; readonly version?: string | { readonly match: string; readonly key: string }; readonly for?: 'run' }
  | {
      readonly variables: { readonly file: string; readonly keys?: readonly string[]; readonly braces?: true };
      readonly or?: readonly string[];
    }
  | { readonly keychain: string; readonly or?: readonly string[] }
  | { readonly login: readonly string[]; readonly when?: string };

/** Where something lies that belongs to an agent: a path, or what its own configuration says; `as` is where it would lie within the root. */
interface OutsideRule {
  readonly path?: string;
  readonly from?: { readonly file: string; readonly at: string };
  readonly class: FileClass;
  readonly as?: string;
  readonly about: string;
}

/** Files, columns or names in which absolute paths stand. */
type Relocation =
  | { readonly match: string; readonly as: 'json'; readonly keys?: readonly string[]; readonly except?: readonly string[] }
  | { readonly match: string; readonly as: 'text' }
  | { readonly match: string; readonly as: 'slug' }
  | { readonly match: string; readonly as: 'sqlite'; readonly columns: readonly (string | JsonColumn)[] };

/** A column that holds JSON: only string values below the names in `keys`, where they are given, and nothing below those in `except`. */
export interface JsonColumn {
  readonly column: string;
  readonly keys?: readonly string[];
  readonly except?: readonly string[];
}

/** What is done to files on the new host, and why. */
type MoveAction =
  | { readonly do: 'drop'; readonly match: string; readonly about: string }
  | { readonly do: 'hold'; readonly match: string; readonly table?: string; readonly about: string }
  | { readonly do: 'advance'; readonly match: string; readonly key: string; readonly about: string }
  | { readonly do: 'clear'; readonly match: string; readonly table: string; readonly about: string };

/** What a profile says of a path. */
export interface Classification {
  readonly class: FileClass;
  readonly flags: readonly string[];
  /** The rule that matched, or null where none did. */
  readonly rule: string | null;
}

/** What is appended to the name of a file or directory that is set aside after a move. */
export const HELD = '.perdure-held';

/** A profile that can classify. */
export interface Profile {
  readonly data: ProfileData;
  readonly digest: Digest;
  /** Whether it does not come with the program. */
  readonly isOwn: boolean;
  /** Classifies a path; `header` is what the first bytes of a file say, where they were looked at. */
  classify(path: string, header?: FileHeader): Classification;
}

function compileRule(match: string): RegExp {
  try {
    return compileGlob(match);
  } catch (error) {
    throw new AgentError('PROFILE_UNKNOWN', `the profile has a rule that is no pattern: '${match}'`, {
      cause: error,
      hints: [{ command: 'agent init --profile generic' }],
    });
  }
}

/** Checks a profile's data and makes it ready to classify; throws PROFILE_UNKNOWN. */
export function compileProfile(value: unknown, { isOwn = true }: { readonly isOwn?: boolean } = {}): Profile {
  if (!profileValid(value)) throw notFitting(profileValid.errors);
  const data = value as ProfileData;
  for (const { match } of [...(data.relocate ?? []), ...(data.onMove ?? []), ...(data.redo ?? []), ...(data.sessions ?? [])])
    compileRule(match);
  for (const one of data.wake ?? []) if ('each' in one) compileRule(one.each);
  for (const one of data.requires) if ('tool' in one && typeof one.version === 'object') compileRule(one.version.match);
  for (const glob of [...(data.detect ?? []).flat(), ...(data.agents ?? []), ...(data.outside ?? []).flatMap(({ path = '' }) => [path])])
    for (const name of glob.split('/')) compileRule(name);
  const rules = data.rules.map((rule) => ({ rule, pattern: compileRule(rule.match) }));
  return {
    data,
    digest: digestOf(canonical(data as unknown as Json)),
    isOwn,
    classify(given, header) {
      // What is set aside is what it was.
      const path = plainName(given);
      let flags: readonly string[] = [];
      for (const { rule, pattern } of rules) {
        if (!pattern.test(path) || (rule.header !== undefined && rule.header !== header)) continue;
        flags = rule.flags === undefined ? flags : [...flags, ...rule.flags];
        // A rule without a class only adds flags; the search goes on.
        if (rule.class !== undefined) return { class: rule.class, flags, rule: rule.match };
      }
      return { class: data.fallback.class, flags: [...flags, ...(data.fallback.flags ?? [])], rule: null };
    },
  };
}

/** The profile that data of a user's file goes on from; null where it stands for itself. Throws PROFILE_UNKNOWN. */
export function baseOf(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || !('extends' in value)) return null;
  if (!profileExtensionValid(value)) throw notFitting(profileExtensionValid.errors);
  return (value as { readonly extends: string }).extends;
}

function notFitting(errors: typeof profileValid.errors): AgentError {
  // The deepest is nearest to the mistake.
  const at = [...(errors ?? [])].sort((a, b) => b.instancePath.length - a.instancePath.length)[0];
  const what =
    at === undefined
      ? ''
      : `: ${at.instancePath === '' ? 'the whole' : `'${at.instancePath.slice(1)}'`} (${at.keyword}${at.params === undefined ? '' : ` ${Object.values(at.params).map(String).join(', ')}`})`;
  return new AgentError('PROFILE_UNKNOWN', `it does not fit schemas/profile.schema.json${what}`, {
    hints: [{ command: 'agent profile new NAME', effect: 'writes one that fits, to go on from' }],
  });
}

type Extension = Partial<Omit<ProfileData, 'format' | 'name'>> & Pick<ProfileData, 'format' | 'name'> & { readonly extends: string };

/** A profile of a user's own that goes on from another: its rules come first, its lists are added, the rest takes the other's place. */
export function extendProfile(value: unknown, base: ProfileData): ProfileData {
  const { extends: _, ...own } = value as Extension;
  const joined = <Key extends (typeof JOINED)[number]>(key: Key): Pick<ProfileData, Key> =>
    ({ [key]: [...(own[key] ?? []), ...(base[key] ?? [])] }) as unknown as Pick<ProfileData, Key>;
  return Object.assign({ ...base, ...own }, ...JOINED.filter((key) => (own[key] ?? base[key]) !== undefined).map(joined)) as ProfileData;
}

/** The end of such a name. */
const HELD_NAME = /(?:\.perdure-held)+(?=\/|$)/g;

/** A path without what is appended to names that are set aside. */
export function plainName<Path extends string>(path: Path): Path {
  return (path.includes(HELD) ? path.replace(HELD_NAME, '') : path) as Path;
}

const JOINED = ['rules', 'detect', 'outside', 'relocate', 'onMove', 'redo', 'stop', 'start', 'wake', 'sessions', 'requires'] as const;
