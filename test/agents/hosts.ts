import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkedOutput } from '../support/output.ts';
import { run } from '../support/run.ts';
import { agentsDirectory } from './programs.ts';

/** An account on a simulated host. */
export interface Host {
  readonly home: string;
  /** Where perdure keeps the keys and the memory of this host. */
  readonly keys: string;
}

/** Two accounts that have nothing in common but this machine, and a place between them. */
export interface Stage {
  readonly a: Host;
  readonly b: Host;
  readonly between: string;
  readonly remove: () => void;
}

/** Makes two empty accounts under different absolute paths. */
export function makeStage(): Stage {
  mkdirSync(agentsDirectory(), { recursive: true });
  const directory = mkdtempSync(join(agentsDirectory(), 'run-'));
  const account = (name: string, home: string): Host => {
    mkdirSync(join(directory, name, home), { recursive: true });
    return { home: join(directory, name, home), keys: join(directory, name, 'perdure') };
  };
  const between = join(directory, 'between');
  mkdirSync(between);
  return {
    a: account('a', 'home'),
    b: account('b', 'accounts/ada'),
    between,
    remove: () => {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Runs the built program as an account; throws where it ends otherwise than it should. */
export function perdure(host: Host, argv: readonly string[], options: { readonly input?: string; readonly ends?: number } = {}): string {
  const { input = '', ends = 0 } = options;
  const { status, stdout, stderr } = run(argv, {
    host: host.keys,
    cwd: host.home,
    input,
    env: { HOME: host.home, XDG_CONFIG_HOME: join(host.home, '.config') },
  });
  if (status !== ends) throw new Error(`${argv.join(' ')} ended with ${String(status)}:\n${stderr.toString()}${stdout.toString()}`);
  return stdout.toString();
}

/** What `profile test` says of each path. */
export interface Tested {
  readonly profile: string;
  readonly unclassified: readonly string[];
  readonly paths: readonly { readonly path: string; readonly class: string; readonly flags: readonly string[] }[];
}

export function profileTest(host: Host, root: string): Tested {
  return checkedOutput(perdure(host, ['profile', 'test', root, '--json'])).data as Tested;
}

/** Moves a directory below the home of one account to that of the other, by the commands that a person types. */
export function move({ a, b, between }: Stage, place: string, profile: string): void {
  const [from, to, bundle] = [join(a.home, place), join(b.home, place), join(between, 'agent.tar')];
  perdure(a, ['init', from, '--profile', profile, '--recovery-kit', join(between, 'agent.kit')]);
  perdure(a, ['-C', from, 'checkpoint', '-m', 'before the move']);
  perdure(a, ['-C', from, 'fence', '--to', '-', '--accept-new'], { input: perdure(b, ['invite']) });
  perdure(a, ['-C', from, 'pack', '--include-secrets', '-o', bundle]);
  perdure(b, ['rehydrate', bundle, to]);
  perdure(a, ['-C', from, 'close', '-'], { input: perdure(b, ['-C', to, 'promote']) });
}

/** What a rehome did. */
export interface Rehomed {
  readonly rewrites: readonly { readonly path: string; readonly count: number }[];
  readonly renames: readonly { readonly from: string; readonly to: string }[];
  readonly held: readonly { readonly path: string }[];
  readonly unwritten: readonly unknown[];
  readonly mentions: readonly { readonly path: string }[];
}

/** Makes what came to an account one of its own: paths, queues, and a record of that. */
export function rehome(host: Host, root: string): Rehomed {
  return checkedOutput(perdure(host, ['-C', root, 'rehome', '--json'])).data as Rehomed;
}

/** What `status --after-move` says, with the agent's real program on PATH and its commands allowed; lines by name. */
export function afterMove(
  host: Host,
  root: string,
  {
    program,
    runs,
    find,
    env = {},
  }: { readonly program: string; readonly runs: readonly string[]; readonly find: string; readonly env?: Record<string, string> },
): ReadonlyMap<string, { readonly ok: boolean; readonly text: string }> {
  const bin = mkdtempSync(join(agentsDirectory(), 'bin-'));
  try {
    writeFileSync(join(bin, program), `#!/bin/sh\nexec ${runs.map((one) => `'${one}'`).join(' ')} "$@"\n`, { mode: 0o755 });
    perdure(host, ['-C', root, 'profile', 'allow']);
    const ran = run(['-C', root, 'status', '--after-move', '--find', find, '--json'], {
      host: host.keys,
      cwd: host.home,
      env: { HOME: host.home, XDG_CONFIG_HOME: join(host.home, '.config'), PATH: `${bin}:${process.env['PATH'] ?? ''}`, ...env },
    });
    const { afterMove: lines } = checkedOutput(ran.stdout.toString()).data as {
      readonly afterMove: readonly { readonly name: string; readonly ok: boolean; readonly text: string }[];
    };
    return new Map(lines.map((line) => [line.name, line]));
  } finally {
    rmSync(bin, { recursive: true, force: true });
  }
}

/** The lines of it that are not well, but for what is held until it is released. */
export function unwell(lines: ReturnType<typeof afterMove>): readonly string[] {
  return [...lines].filter(([name, { ok }]) => !ok && name !== 'held').map(([name, { text }]) => `${name}: ${text}`);
}

/** A copy of what came, as it came, for a look at what does not work then. */
export function copyOf(root: string, to: string): void {
  cpSync(root, to, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.startsWith(join(root, '.perdure')) });
}

/** Takes an account away, as on another machine it is not there; gives back what brings it again. */
export function takeAway({ home }: Host): () => void {
  const away = `${home}.away`;
  renameSync(home, away);
  return () => {
    // Whoever made something there meanwhile did not know that it moved; that stays, for the test to see.
    if (existsSync(home)) throw new Error(`something was made in ${home}`);
    renameSync(away, home);
  };
}
