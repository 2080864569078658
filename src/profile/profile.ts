import { canonical, type Json } from '../core/canonical.ts';
import { digestOf, type Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import { profileValid } from '../core/generated/validators.js';
import generic from './generic.json' with { type: 'json' };
import { compileGlob } from './glob.ts';
import native from './native.json' with { type: 'json' };

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
  readonly requires: readonly { readonly tool: string; readonly version?: string }[];
  readonly bodyDirectory?: string;
}

/** What a profile says of a path. */
export interface Classification {
  readonly class: FileClass;
  readonly flags: readonly string[];
  /** The rule that matched, or null where none did. */
  readonly rule: string | null;
}

/** A profile that can classify. */
export interface Profile {
  readonly data: ProfileData;
  readonly digest: Digest;
  /** Classifies a path; `header` is what the first bytes of a file say, where they were looked at. */
  classify(path: string, header?: FileHeader): Classification;
}

const BUILT_IN: readonly unknown[] = [native, generic];

/** Loads a profile that comes with the program; throws PROFILE_UNKNOWN. */
export function loadProfile(name: string): Profile {
  const names = BUILT_IN.map((one) => (one as ProfileData).name);
  const data = BUILT_IN[names.indexOf(name)];
  if (data === undefined)
    throw new AgentError('PROFILE_UNKNOWN', `there is no profile '${name}'`, {
      hints: [{ command: 'agent init --profile generic', effect: `known: ${names.join(', ')}, and files of your own` }],
    });
  return compileProfile(data);
}

/** The profile of the program with this digest, or null. */
export function builtInProfile(digest: Digest): Profile | null {
  return BUILT_IN.map(compileProfile).find((one) => one.digest === digest) ?? null;
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

/** Checks a profile's data and makes it ready to classify. */
export function compileProfile(value: unknown): Profile {
  if (!profileValid(value))
    throw new AgentError('PROFILE_UNKNOWN', 'this is no profile: it does not fit schemas/profile.schema.json', {
      hints: [{ command: 'agent init --profile generic' }],
    });
  const data = value as ProfileData;
  const rules = data.rules.map((rule) => ({ rule, pattern: compileRule(rule.match) }));
  return {
    data,
    digest: digestOf(canonical(data as unknown as Json)),
    classify(path, header) {
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
