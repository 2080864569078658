import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { promote } from '../../src/actions/answer.ts';
import { checkpoint } from '../../src/actions/checkpoint.ts';
import { fence } from '../../src/actions/fence.ts';
import { init } from '../../src/actions/init.ts';
import { pack } from '../../src/actions/pack.ts';
import type { RehydrateResult } from '../../src/actions/rehydrate.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import { bringTo, inviteOf } from './agent.ts';
import { at, testHost } from './host.ts';
import { temporary } from './tree.ts';

/** A rehome that is told nothing. */
export const NOTHING = { moved: [], skip: [], asIs: false };

interface Arrived {
  readonly directory: string;
  readonly home: string;
  readonly old: string;
  readonly root: string;
  readonly here: Ports;
  readonly arrived: RehydrateResult;
}

type Build = (directory: string, options: { readonly era: 'old' | 'new'; readonly home: string }) => void;

/** An agent of a layout, moved to another account's home under another path, and promoted there. */
export async function moved(
  build: Build,
  { era = 'new', name = '.agent' }: { readonly era?: 'old' | 'new'; readonly name?: string } = {},
): Promise<Arrived> {
  const directory = temporary();
  const old = join(directory, 'a', name);
  mkdirSync(old, { recursive: true });
  mkdirSync(join(directory, 'b'));
  build(old, { era, home: join(directory, 'a') });
  const a = testHost(directory, 'a', { root: old });
  const b = testHost(directory, 'b', { root: join(directory, 'b') });
  await init(a, { directory: old, recovery: { kit: join(directory, 'kit') } });
  await checkpoint(a);
  await fence(a, { to: { invite: await inviteOf(b) }, acceptNew: true, drain: 0 });
  const bundle = join(directory, 'bundle.tar');
  await pack(a, { output: bundle, includeSecrets: true, write: () => Promise.resolve() });
  const root = join(directory, 'b', 'moved', name);
  mkdirSync(join(directory, 'b', 'moved'));
  const arrived = await bringTo(b, { bundle, away: root });
  const here = at(b, root);
  expect((await promote(here)).moved).toBe(true);
  return { directory, home: join(directory, 'a'), old, root, here, arrived };
}

/** What SQLite answers, as its program prints it. */
export function query(path: string, text: string): string {
  return execFileSync('sqlite3', ['-init', '/dev/null', path], { input: text }).toString().trim();
}
