import { join } from 'node:path';
import { AgentError } from '../core/errors.ts';
import type { Ports } from './session/ports.ts';
import { openSession } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';

/** A file that is an input of a fresh session of the agent. */
export interface ContextPart {
  readonly path: string;
  readonly text: string;
}

/** Identity and body, each labelled. */
export interface ContextResult {
  readonly identity: readonly ContextPart[];
  readonly body: readonly ContextPart[];
}

/** Reads identity and body afresh, as two inputs that are never mixed: a name of body, host or model is no identity. */
export async function context(ports: Ports): Promise<ContextResult> {
  const session = await openSession(ports);
  const { context: inputs } = (await readProfile(session)).data;
  const load = async (paths: readonly string[]): Promise<readonly ContextPart[]> => {
    const parts: ContextPart[] = [];
    for (const path of paths) {
      const bytes = await ports.files.readIfPresent(join(session.root, path));
      if (bytes !== null) parts.push({ path, text: bytes.toString('utf8') });
    }
    return parts;
  };
  const result = { identity: await load(inputs.identity), body: await load(inputs.body) };
  if (result.identity.length === 0)
    throw new AgentError('FILE_MISSING', `'${session.name}' has no identity file: ${inputs.identity.join(' or ')}`, {
      hints: [{ command: 'agent profile explain PATH', effect: 'tells what a file is' }],
    });
  return result;
}
