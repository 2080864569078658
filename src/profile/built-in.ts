import { AgentError } from '../core/errors.ts';
import { compileProfile, type Profile } from './profile.ts';

type Data = Promise<{ readonly default: unknown }>;

/** The profiles that come with the program, each loaded when it is asked for. */
const BUILT_IN: Readonly<Record<string, () => Data>> = {
  'claude-code': () => import('./claude-code.json', { with: { type: 'json' } }),
  codex: () => import('./codex.json', { with: { type: 'json' } }),
  enoch: () => import('./enoch.json', { with: { type: 'json' } }),
  generic: () => import('./generic.json', { with: { type: 'json' } }),
  hermes: () => import('./hermes.json', { with: { type: 'json' } }),
  letta: () => import('./letta.json', { with: { type: 'json' } }),
  native: () => import('./native.json', { with: { type: 'json' } }),
  openclaw: () => import('./openclaw.json', { with: { type: 'json' } }),
};

/** Their names, sorted. */
export const BUILT_IN_NAMES: readonly string[] = Object.keys(BUILT_IN);

/** Loads a profile that comes with the program; throws PROFILE_UNKNOWN. */
export async function loadProfile(name: string): Promise<Profile> {
  const load = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined;
  if (load === undefined)
    throw new AgentError('PROFILE_UNKNOWN', `there is no profile '${name}'`, {
      hints: [{ command: 'agent profile list', effect: 'lists those that there are' }],
    });
  return compileProfile((await load()).default, { isOwn: false });
}
