import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { init } from '../../src/actions/init.ts';
import { invite } from '../../src/actions/invite.ts';
import { pack } from '../../src/actions/pack.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { rehydrate } from '../../src/actions/rehydrate.ts';
import { openRoot } from '../../src/actions/session/session.ts';
import { decide } from '../../src/ledger/decide.ts';
import { parseInvite } from '../../src/ledger/message.ts';
import { at, testHost } from './host.ts';
import { nativeAgent } from './tree.ts';

/** Two hosts and where the agent lies on each. */
export interface Stage {
  readonly directory: string;
  readonly a: Ports;
  readonly b: Ports;
  readonly home: string;
  readonly away: string;
  readonly bundle: string;
}

export async function* nothing(): AsyncGenerator<Uint8Array> {
  // No standard input.
}

/** An agent at host a, initialised and recorded. */
export async function adopted(directory: string, build: (root: string) => void = nativeAgent): Promise<Stage> {
  const home = join(directory, 'a', 'ada');
  mkdirSync(home, { recursive: true });
  mkdirSync(join(directory, 'b'));
  build(home);
  const a = testHost(directory, 'a', { root: home });
  const b = testHost(directory, 'b', { root: join(directory, 'b') });
  await init(a, { directory: home, recovery: { kit: join(directory, 'ada.kit') }, profile: 'native' });
  await checkpoint(a);
  return { directory, a, b, home, away: join(directory, 'b', 'ada'), bundle: join(directory, 'ada.tar') };
}

/** The same, fenced and offered to host b, and packed. */
export async function offered(directory: string, build?: (root: string) => void): Promise<Stage> {
  const stage = await adopted(directory, build);
  await fence(stage.a, { to: { invite: await inviteOf(stage.b) }, acceptNew: true, drain: 0 });
  await pack(stage.a, { output: stage.bundle, includeSecrets: true, write: () => Promise.resolve() });
  return stage;
}

export async function inviteOf(ports: Ports): Promise<ReturnType<typeof parseInvite>> {
  return parseInvite(Buffer.from((await invite(ports)).document));
}

/** The offered agent, put in place at host b. */
export async function arrived(directory: string, build?: (root: string) => void): Promise<Stage> {
  const stage = await offered(directory, build);
  await bringTo(stage.b, stage);
  return stage;
}

export function bringTo(ports: Ports, { bundle, away }: Pick<Stage, 'bundle' | 'away'>): ReturnType<typeof rehydrate> {
  return rehydrate(ports, { bundles: [bundle], directory: away, dryRun: false, input: nothing() });
}

/** Whether a host may act with a root. */
export async function acts(ports: Ports, root: string): Promise<boolean> {
  const session = await openRoot(at(ports, root), root).catch(() => null);
  return session?.view != null && decide(session.state, session.view, 'act').allowed;
}
