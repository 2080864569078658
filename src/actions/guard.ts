import { spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import { AgentError, systemCode } from '../core/errors.ts';
import { saveMemory } from '../host/memory.ts';
import { decide } from '../ledger/decide.ts';
import { createScope, type Scope } from '../providers/cgroup.ts';
import { LEDGER_FILE } from '../store/layout.ts';
import { drainDeadline, registerGuard, unregisterGuard, type GuardNote } from './guarded/guards.ts';
import { endFamily } from './guarded/guard-end.ts';
import type { Ports } from './session/ports.ts';
import { refusal } from './session/refusal.ts';
import { assertMay } from './session/may.ts';
import { refuseMoved } from './home/due.ts';
import { refuseUnfinished } from './state/unfinished.ts';
import { openRoot, openSession, type HostSession } from './session/session.ts';
import { underLock } from './session/writer.ts';

/** Milliseconds that a command has to end after a signal to the guard. */
const STOP_GRACE = 5000;

/** Milliseconds between two looks at the right to act. */
const LOOK = 200;

/** What a guard runs, and how. */
export interface GuardOptions {
  readonly command: readonly string[];
  readonly shared: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Ends the guard and its command, as a signal to the guard does. */
  readonly onSignal: (end: (signal: NodeJS.Signals) => void) => () => void;
}

/**
 * Runs a command only while this host may act. Registers before it looks, so that a fence either sees the guard or is
 * seen by it. Returns the command's status (128 + signal where a signal ended it); throws the refusal where the right to
 * act ended, after every process of the command is gone.
 */
export async function guard(ports: Ports, options: GuardOptions): Promise<number> {
  const opened = await openSession(ports);
  // A refusal needs no registration; this look is only for a short way to it.
  await refuseUnfinished(assertMay(opened, 'act'));
  await refuseMoved(opened);
  const mark = `PERDURE_GUARD=${ports.random(12).toString('hex')}`;
  const scope = createScope(`perdure-${String(ports.processes.self.pid)}-${mark.slice(-8)}`);
  const note: GuardNote = {
    ...ports.processes.self,
    mark,
    shared: options.shared,
    scope: scope?.path ?? null,
    command: basename(options.command[0] ?? ''),
  };
  try {
    await registerGuard(opened, note);
    const session = await noteRename(assertMay(await openRoot(ports, opened.root), 'act'));
    // Whatever began meanwhile saw this guard, or is seen by it.
    await refuseUnfinished(session);
    await refuseMoved(session);
    return await run(session, { ...options, note, scope });
  } finally {
    scope?.remove();
    await unregisterGuard(opened, note);
  }
}

async function run(
  session: HostSession,
  options: GuardOptions & { readonly note: GuardNote; readonly scope: Scope | null },
): Promise<number> {
  const { ports, state } = session;
  const { command, note, scope } = options;
  const [program = '', ...args] = command;
  const env = {
    ...options.env,
    PERDURE_TOKEN: `${state.agent}:${String(state.epoch)}`,
    PERDURE_GUARD: note.mark.slice('PERDURE_GUARD='.length),
  };
  // The command enters the cgroup itself before it becomes the program, so that no child of it can be outside.
  const child =
    scope === null
      ? spawn(program, args, { stdio: 'inherit', env, cwd: options.cwd })
      : spawn('/bin/sh', ['-c', 'echo $$ >"$0" 2>/dev/null; exec "$@"', scope.entry, program, ...args], {
          stdio: 'inherit',
          env,
          cwd: options.cwd,
        });
  let ended: { readonly status: number } | { readonly error: unknown } | null = null;
  const wake = new AbortController();
  const exit = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      ended = { error };
      wake.abort();
      resolve();
    });
    child.on('exit', (code, signal) => {
      ended = { status: code ?? 128 + (signal === null ? 0 : constants.signals[signal]) };
      wake.abort();
      resolve();
    });
  });
  let deadline = Number.POSITIVE_INFINITY;
  const release = options.onSignal((signal) => {
    if (child.pid !== undefined) ports.processes.signal(child.pid, signal);
    deadline = Math.min(deadline, ports.clock.now() + STOP_GRACE);
  });
  const watch = watcher(session);
  try {
    for (;;) {
      await Promise.race([exit, ports.clock.sleep(LOOK, wake.signal)]);
      const lost = await watch();
      if (lost !== null) {
        await endFamily(session, note);
        throw lost;
      }
      const result = ended as { readonly status: number } | { readonly error: unknown } | null;
      // A command that does not end when it is asked to is ended, with all that it started.
      if (result === null && ports.clock.now() > deadline) await endFamily(session, note);
      if (result === null) continue;
      if ('error' in result) return startFailure(program, result.error);
      // What the command left behind would run on without a guard.
      await endFamily(session, note);
      return result.status;
    }
  } finally {
    release();
    child.unref();
  }
}

/** Looks whether the right to act ended; null while it lasts or a fence still lets the command finish. */
function watcher({ ports, root, control, host }: HostSession): () => Promise<AgentError | null> {
  let last = '';
  return async () => {
    const signs = await Promise.all(
      [join(control, LEDGER_FILE), join(host.directory, 'agents'), join(host.directory, 'host.key'), root].map((path) =>
        stat(path, { bigint: true }).then(
          (found) => `${String(found.ino)}.${String(found.size)}.${String(found.mtimeNs)}`,
          () => 'gone',
        ),
      ),
    );
    if (signs.join() === last) return null;
    let lost: AgentError | null = null;
    try {
      const session = await openRoot(ports, root);
      const decision = session.view === null ? null : decide(session.state, session.view, 'act');
      if (decision === null) lost = new AgentError('FOREIGN', `the host directory '${host.directory}' is gone`);
      else if (!decision.allowed) lost = refusal(session, decision);
    } catch (error) {
      lost = new AgentError('FOREIGN', `the agent in '${root}' cannot be read any more`, { cause: error });
    }
    // While a fence drains, the command may finish; the fence or the deadline ends it.
    if (lost?.code === 'FENCED' && ports.clock.now() < drainDeadline(control)) return null;
    if (lost === null) last = signs.join();
    return lost;
  };
}

/** A root that was renamed is the same root; its new path is noted before anything runs. */
async function noteRename(opened: HostSession): Promise<HostSession> {
  const { ports, host, root } = opened;
  if (opened.view.root !== 'renamed') return opened;
  return underLock(ports, opened.state.agent, async () => {
    const { memory, place } = await openRoot(ports, root);
    if (memory !== null) await saveMemory(ports.files, host.directory, { ...memory, roots: [{ name: 'main', place }] });
    return assertMay(await openRoot(ports, root), 'act');
  });
}

/** The status that shells give: 127 for a program that is not there, 126 for one that cannot be started. */
function startFailure(program: string, error: unknown): number {
  if (systemCode(error) === 'ENOENT') return 127;
  if (systemCode(error) === 'EACCES') return 126;
  throw new AgentError('INTERNAL', `'${program}' cannot be started`, { cause: error });
}
