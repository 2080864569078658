import { realpath, lstat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { peekHeader } from '../capture/lane/pieces.ts';
import { AgentError } from '../core/errors.ts';
import type { Classification } from '../profile/profile.ts';
import type { Ports } from './session/ports.ts';
import { openSession } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';
import { word } from '../core/shell.ts';

/** What a path is, by which rule, and what becomes of it. */
export interface ExplainResult extends Classification {
  readonly path: string;
  readonly profile: string;
  /** What becomes of it. */
  readonly fate: string;
}

/** Tells what a path of an agent is, by which rule, and what becomes of it. */
export async function explain(ports: Ports, path: string): Promise<ExplainResult> {
  const session = await openSession(ports);
  const wanted = resolve(ports.cwd, path);
  const absolute = join(await realpath(dirname(wanted)).catch(() => dirname(wanted)), basename(wanted));
  const inside = relative(session.root, absolute);
  if (inside === '' || inside.startsWith('..'))
    throw new AgentError('PATH_UNKNOWN', `'${path}' is not in the agent '${session.root}'`, {
      hints: [{ command: `cd ${word(session.root)}`, effect: 'paths are taken from the current directory' }],
    });
  const profile = await readProfile(session);
  const stat = await lstat(absolute).catch(() => null);
  const found = profile.classify(inside, stat?.isFile() === true ? peekHeader(absolute) : undefined);
  return { path: inside, profile: profile.data.name, ...found, fate: fateOf(found) };
}

function fateOf({ class: name }: Classification): string {
  if (name === 'volatile') return 'left out: it is made again by itself';
  if (name === 'host') return 'left out: it belongs to this host';
  if (name === 'secret') return 'sealed to keys of its own; a target opens it only with --include-secrets';
  return 'captured, sealed, and put back as it is';
}
