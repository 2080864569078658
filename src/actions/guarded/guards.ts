import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { canonical, parseJson, type Json } from '../../core/canonical.ts';
import { AgentError } from '../../core/errors.ts';
import { openScope } from '../../providers/cgroup.ts';
import type { ProcessId } from '../../providers/processes.ts';
import type { Session } from '../session/session.ts';

/** A guard as it registers itself in a root. */
export interface GuardNote extends ProcessId {
  /** What marks the environment of everything that it runs. */
  readonly mark: string;
  readonly shared: boolean;
  /** Path of the cgroup that holds all of it, or null. */
  readonly scope: string | null;
  /** The program, for people; its arguments may hold secrets. */
  readonly command: string;
}

type GuardRoot = Pick<Session, 'ports' | 'control'>;

/** The guards that run in a root. One that was killed counts as long as anything that it started runs. */
export function liveGuards({ ports, control }: GuardRoot): readonly GuardNote[] {
  return notes(control).filter((note) => isRunning({ ports }, note));
}

function isRunning({ ports }: Pick<GuardRoot, 'ports'>, note: GuardNote): boolean {
  return ports.processes.isAlive(note) || familyOf({ ports }, note).length > 0;
}

/** Everything that a guard started and that still runs: by its cgroup, by descent, and by the mark in the environment. */
export function familyOf({ ports }: Pick<GuardRoot, 'ports'>, note: GuardNote): readonly number[] {
  // A number may have gone to another process meanwhile; then only cgroup and mark tell the family.
  const marked = ports.processes.family(ports.processes.isAlive(note) ? note : null, note.mark);
  const members = note.scope === null ? [] : openScope(note.scope).members();
  return [...new Set([...marked, ...members])];
}

/** Registers a guard; throws GUARD_RUNNING where another runs and not both are shared. Of two at once one wins. */
export async function registerGuard({ ports, control }: GuardRoot, note: GuardNote): Promise<void> {
  sweepGuards({ ports, control });
  const { files } = ports;
  await files.replace(notePath(control, note), canonical(note as unknown as Json));
  if (!note.shared) await takeOnly({ ports, control }, note);
  const other = liveGuards({ ports, control }).find((one) => one.pid !== note.pid && one.shared !== note.shared);
  if (other === undefined) return;
  await unregisterGuard({ ports, control }, note);
  throw running({ ports }, other);
}

/** Takes a guard's registration back. */
export async function unregisterGuard({ ports, control }: GuardRoot, note: GuardNote): Promise<void> {
  await ports.files.remove(notePath(control, note));
  if (parseNote(onlyPath(control))?.pid === note.pid) await ports.files.remove(onlyPath(control));
}

/** Removes the notes of guards that are gone. */
export function sweepGuards({ ports, control }: GuardRoot): void {
  for (const note of notes(control)) {
    if (isRunning({ ports }, note)) continue;
    rmSync(notePath(control, note), { force: true });
    if (note.scope !== null) openScope(note.scope).remove();
  }
}

/** Until when a fence lets running guards finish, in milliseconds since 1970; 0 where none waits. */
export function drainDeadline(control: string): number {
  const value = parseJson(readText(drainPath(control)));
  return typeof value === 'object' && value !== null && 'until' in value && typeof value.until === 'number' ? value.until : 0;
}

/** Notes until when guards may finish; written before the fence's record. */
export async function setDrainDeadline({ ports, control }: GuardRoot, until: number): Promise<void> {
  await ports.files.replace(drainPath(control), canonical({ until }));
}

async function takeOnly({ ports, control }: GuardRoot, note: GuardNote): Promise<void> {
  const path = onlyPath(control);
  for (let attempt = 0; attempt < 3; attempt++) {
    if (await ports.files.create(path, canonical(note as unknown as Json))) return;
    const owner = parseNote(path);
    if (owner !== null && isRunning({ ports }, owner)) {
      await ports.files.remove(notePath(control, note));
      throw running({ ports }, owner);
    }
    await removeStale({ ports, control }, owner);
  }
  throw new AgentError('RACE_LOST', 'several guards start at once', { hints: [{ command: 'agent status' }] });
}

/** Removes the claim of a guard that is gone, and no other: one that was taken meanwhile is put back. */
async function removeStale({ ports, control }: GuardRoot, owner: GuardNote | null): Promise<void> {
  const { files, processes } = ports;
  const path = onlyPath(control);
  const aside = `${path}.${String(processes.self.pid)}`;
  if (!(await files.exists(path))) return;
  await files.rename(path, aside);
  const moved = parseNote(aside);
  if (moved !== null && moved.mark !== owner?.mark) await files.create(path, canonical(moved as unknown as Json));
  await files.remove(aside);
}

function running({ ports }: Pick<GuardRoot, 'ports'>, note: GuardNote): AgentError {
  const { pid, command } = note;
  const rest = ports.processes.isAlive(note) ? [] : familyOf({ ports }, note);
  if (rest.length > 0)
    return new AgentError('GUARD_RUNNING', `guard ${String(pid)} was killed, and what it started runs on: '${command}'`, {
      hints: [{ command: `kill ${rest.join(' ')}`, effect: 'ends it; so does agent fence' }],
    });
  return new AgentError('GUARD_RUNNING', `guard ${String(pid)} runs '${command}' already`, {
    hints: [
      { command: `kill ${String(pid)}`, effect: 'ends the other guard and all that it started' },
      { command: 'agent guard --shared -- CMD', effect: 'where both are meant to run side by side (both must say so)' },
    ],
  });
}

function notes(control: string): readonly GuardNote[] {
  let names: readonly string[];
  try {
    names = readdirSync(join(control, 'local', 'guards'));
  } catch {
    return [];
  }
  return names.filter((name) => /^[0-9]+\.json$/.test(name)).flatMap((name) => parseNote(join(control, 'local', 'guards', name)) ?? []);
}

function parseNote(path: string): GuardNote | null {
  const value = parseJson(readText(path));
  return typeof value === 'object' && value !== null && 'pid' in value && 'mark' in value ? (value as GuardNote) : null;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function notePath(control: string, { pid }: GuardNote): string {
  return join(control, 'local', 'guards', `${String(pid)}.json`);
}

function onlyPath(control: string): string {
  return join(control, 'local', 'guards', 'only');
}

function drainPath(control: string): string {
  return join(control, 'local', 'drain');
}
