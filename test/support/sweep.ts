import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Ports } from '../../src/actions/session/ports.ts';
import { setTime } from '../../src/install/times.ts';
import { microsecondsOf } from '../../src/manifest/entry.ts';
import { verify } from '../../src/actions/verify.ts';
import { acts, nothing, type Stage } from './agent.ts';
import { at, testHost } from './host.ts';

class Crash extends Error {}

/** A very small agent: a sweep makes a new one for each crash point. */
export function tiny(root: string): void {
  for (const directory of ['body', 'private/memory', 'private/secrets']) mkdirSync(join(root, directory), { recursive: true });
  writeFileSync(join(root, 'private/self.json'), '{"version":1}\n');
  writeFileSync(join(root, 'private/memory/note.md'), 'note\n');
  writeFileSync(join(root, 'private/secrets/chat.env'), 'TOKEN=canary-3f9a1c\n');
}

/** The ports of a host whose disk dies at the nth change: nothing reaches it any more. */
function dying(ports: Ports, name: string, directory: string, crashAt: number): { readonly ports: Ports; readonly reached: () => number } {
  let count = 0;
  const host = testHost(directory, name, {
    before: () => {
      if (++count >= crashAt) throw new Crash();
    },
  });
  return { ports: { ...host, cwd: ports.cwd, start: ports.start }, reached: () => count };
}

interface Sweep {
  readonly prepare: (directory: string) => Promise<Stage>;
  readonly host: 'a' | 'b';
  readonly command: (ports: Ports, stage: Stage) => Promise<unknown>;
  readonly after: (stage: Stage) => Promise<void>;
  /** Every so many changes are tried, where all would take long and most are those of another sweep. */
  readonly stride?: number;
}

/**
 * Cuts a command at each of its changes in turn; the same command again must finish, and two may never act. The stage is made once, and
 * is put back as it was between the cuts: roots and keys stay the directories and files that they are, by which they are known.
 */
export async function sweep({ prepare, host, command, after, stride = 1 }: Sweep): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'perdure-crash-'));
  const before = mkdtempSync(join(tmpdir(), 'perdure-crash-'));
  try {
    const stage = await prepare(directory);
    putBack(directory, before);
    const acting = await actingIn(stage);
    for (let crashAt = 1; ; crashAt += stride) {
      putBack(before, directory);
      expect(await actingIn(stage), 'the stage as it was').toBe(acting);
      const { ports } = dying(stage[host], host, directory, crashAt);
      const crashed = await command(ports, stage).then(
        () => false,
        (error: unknown) => {
          if (!(error instanceof Crash)) throw error;
          return true;
        },
      );
      expect(await actingIn(stage), `crash at ${String(crashAt)}`).toBeLessThanOrEqual(1);
      if (crashed)
        await command(stage[host], stage).catch((error: unknown) => {
          throw new Error(`after a crash at change ${String(crashAt)} the same command fails`, { cause: error });
        });
      await after(stage);
      if (!crashed) return crashAt - 1;
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
    rmSync(before, { recursive: true, force: true });
  }
}

async function actingIn({ a, b, home, away }: Stage): Promise<number> {
  return [await acts(a, home), await acts(b, away)].filter(Boolean).length;
}

/** Makes one directory hold what another one does, with modes and times; what is in both stays the same file or directory. */
function putBack(from: string, to: string): void {
  for (const name of readdirSync(to)) {
    const [there, here] = [lstatSync(join(from, name), { throwIfNoEntry: false }), lstatSync(join(to, name))];
    const isKept = there !== undefined && ((there.isDirectory() && here.isDirectory()) || (there.isFile() && here.isFile()));
    if (!isKept) rmSync(join(to, name), { recursive: true, force: true });
  }
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    const stat = lstatSync(source, { bigint: true });
    if (stat.isDirectory()) {
      mkdirSync(target, { recursive: true });
      putBack(source, target);
    } else if (stat.isSymbolicLink()) {
      symlinkSync(readlinkSync(source), target);
    } else {
      copyFileSync(source, target);
      chmodSync(target, Number(stat.mode));
      setTime(target, microsecondsOf(stat.mtimeNs));
    }
  }
  const { mode, mtimeNs } = statSync(from, { bigint: true });
  chmodSync(to, Number(mode));
  setTime(to, microsecondsOf(mtimeNs));
}

/** Throws where a root does not verify. */
export async function sound(ports: Ports, root: string): Promise<void> {
  const result = await verify(at(ports, root), { path: null, input: nothing() });
  expect(result.status, JSON.stringify(result.findings)).toBe(0);
}
