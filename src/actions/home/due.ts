import { join } from 'node:path';
import { canonical, parseJson, type Json } from '../../core/canonical.ts';
import type { Digest } from '../../core/digest.ts';
import { AgentError, type Hint } from '../../core/errors.ts';
import { word } from '../../core/shell.ts';
import { moveNoteValid } from '../../core/generated/validators.js';
import type { Moved } from '../../install/relocate/path-map.ts';
import type { PublicKey } from '../../core/ssh/key.ts';
import type { Facts } from '../../manifest/facts.ts';
import type { Profile } from '../../profile/profile.ts';
import type { Ports } from '../session/ports.ts';
import type { HostSession, Session } from '../session/session.ts';

/** The place that the paths in an agent's files are written for: its root, the account's home, and the host. */
export interface HomePlace {
  readonly root: string;
  readonly home: string;
  readonly host: PublicKey | string;
}

/** This place. */
export function placeHere({ root, ports, host }: Pick<HostSession, 'root' | 'ports' | 'host'>): HomePlace {
  return { root, home: ports.home, host: host.key.publicKey };
}

/** The labels of facts that say it. */
const LABELS = { root: 'homeRoot', home: 'homeDirectory', host: 'homeHost' } as const;

/** Whether a profile says anything of a move between places. */
function knowsMoves({ data }: Profile): boolean {
  return [data.relocate, data.onMove, data.outside].some((list) => (list ?? []).length > 0);
}

/** Where a state is at home, as far as it says. */
function homeOf({ labels }: Pick<Facts, 'labels'>): HomePlace | null {
  const [root, home, host] = [labels[LABELS.root], labels[LABELS.home], labels[LABELS.host]];
  return root === undefined || home === undefined || host === undefined ? null : { root, home, host };
}

/** The labels of a new state: it stays at home where it was until a rehome says otherwise. */
export function homeLabels(
  here: HomePlace,
  { previous, profile, moved }: { readonly previous: Facts | null; readonly profile: Profile; readonly moved: boolean },
): Readonly<Record<string, string>> {
  const before = previous === null || moved || !knowsMoves(profile) ? null : homeOf(previous);
  const { root, home, host } = before ?? here;
  return { [LABELS.root]: root, [LABELS.home]: home, [LABELS.host]: host };
}

/** Where a state was at home, where that is another place than here and its profile knows what to do about it; else null. */
export function movedFrom(facts: Facts, here: HomePlace, profile: Profile): HomePlace | null {
  const from = knowsMoves(profile) ? homeOf(facts) : null;
  return from === null || (from.root === here.root && from.home === here.home && from.host === here.host) ? null : from;
}

/** The note in a root that it has moved: nothing runs until it is at home, and while a rehome is under way nothing is recorded. */
export interface MoveNote {
  readonly from: HomePlace;
  /** What a rehome began with: the state, further places that moved, and the names that directories get. */
  readonly begun: {
    readonly manifest: Digest;
    readonly moved: readonly Moved[];
    readonly renames: readonly { readonly from: string; readonly to: string }[];
  } | null;
}

/** Reads, writes and clears the note; it never travels. */
export function moveNote({ ports, control }: { readonly ports: Pick<Ports, 'files'>; readonly control: string }): {
  readonly read: () => Promise<MoveNote | null>;
  readonly write: (note: MoveNote) => Promise<void>;
  readonly clear: () => Promise<void>;
} {
  const path = join(control, 'local', 'moved');
  return {
    async read() {
      const bytes = await ports.files.readIfPresent(path);
      if (bytes === null) return null;
      const value = parseJson(bytes.toString('utf8'));
      if (!moveNoteValid(value))
        throw new AgentError('TREE_DAMAGED', `'${path}' says that the agent moved, and not from where`, {
          hints: [{ command: `rm ${word(path)}`, effect: 'then agent status says whether it is at home here' }],
        });
      return value as MoveNote;
    },
    write: async (note) => {
      await ports.files.replace(path, canonical(note as unknown as Json));
    },
    clear: () => ports.files.remove(path),
  };
}

/** Notes in a root that its state is at home elsewhere, where it is and its profile knows what to do about that. */
export async function noteMoved(
  root: Parameters<typeof moveNote>[0],
  facts: Facts,
  { here, profile }: { readonly here: HomePlace; readonly profile: Profile },
): Promise<void> {
  const from = movedFrom(facts, here, profile);
  if (from !== null) await moveNote(root).write({ from, begun: null });
}

/** Throws REHOME_DUE where the agent came from another place and was not made one of this: it would use old paths, and send old queues. */
export async function refuseMoved(session: Pick<Session, 'ports' | 'control' | 'name' | 'root'>): Promise<void> {
  const note = await moveNote(session).read();
  if (note === null) return;
  throw new AgentError('REHOME_DUE', `'${session.name}' is written for '${note.from.root}', where it came from`, {
    hints: homeHints(session.root),
  });
}

/** What to type where an agent is not at home yet. */
export function homeHints(root: string): readonly Hint[] {
  return [
    { command: `agent -C ${word(root)} rehome`, effect: 'rewrites its paths, holds its queues, and records that; --dry-run shows it' },
    { command: `agent -C ${word(root)} rehome --as-is`, effect: 'says that it is right as it is' },
  ];
}
