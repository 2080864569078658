import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { AgentError } from '../../core/errors.ts';
import type { Digest } from '../../core/digest.ts';
import { loadHost, type Host } from '../../host/home.ts';
import { loadMemory, type AgentMemory } from '../../host/memory.ts';
import { compareHome, placeOf, samePlace, type Place } from '../../host/place.ts';
import { parseChain, type Chain, type VerifiedPrefix } from '../../ledger/chain.ts';
import type { HostView, RootRelation } from '../../ledger/conditions.ts';
import { damaged, parseLine, type SignedRecord } from '../../ledger/record.ts';
import { REDUCER } from '../../ledger/reduce.ts';
import { standingOf } from '../../ledger/standing.ts';
import type { LedgerState } from '../../ledger/state.ts';
import { FORMAT_FILE, LEDGER_FILE } from '../../store/layout.ts';
import { checkFormat, directoryReader, type StoreReader } from '../../store/reader.ts';
import { CONTROL, controlOf, refuseAbsent } from './control.ts';
import type { Ports } from './ports.ts';
import { word } from '../../core/shell.ts';

/** Where a tree that a rehydrate replaced is kept, within the control directory. */
export const OLD_TREE = 'local/old';

/** No first line of a ledger is longer. */
const FIRST_LINE = 256 * 1024;

/** An agent root that was opened: its ledger, and what this host knows of it. Nothing was written. */
export interface Session {
  readonly ports: Ports;
  readonly root: string;
  readonly control: string;
  readonly place: Place;
  readonly reader: StoreReader;
  readonly chain: Chain;
  /** The state, as if a record that is still pending were in the ledger: what was signed counts. */
  readonly state: LedgerState;
  readonly host: Host | null;
  readonly memory: AgentMemory | null;
  readonly pending: SignedRecord | null;
  readonly view: HostView | null;
  /** For people. */
  readonly name: string;
}

/** A session of a host that has keys. */
export type HostSession = Session & { readonly host: Host; readonly view: HostView };

/** Finds the agent root: exactly at `start`, or there and in its parents. Throws AGENT_MISSING. */
export async function findRoot({ files, start }: Pick<Ports, 'files' | 'start'>): Promise<string> {
  const begin = await realpath(resolve(start.directory)).catch(() => resolve(start.directory));
  for (let at = begin; ; at = dirname(at)) {
    if (await files.exists(join(at, CONTROL))) return at;
    if (await files.exists(join(dirname(at), `.${basename(at)}.perdure-journal`)))
      throw new AgentError('AGENT_MISSING', `a rehydrate into '${at}' was interrupted`, {
        hints: [{ command: `agent rehydrate BUNDLE ${word(at)}`, effect: 'the same command again finishes it' }],
      });
    if (start.exact || at === dirname(at)) break;
  }
  throw new AgentError('AGENT_MISSING', `no agent in '${begin}'${start.exact ? '' : ' nor in its parents'}`, {
    hints: [
      { command: 'agent init --recovery-kit FILE', effect: 'makes an agent of this directory, moving nothing' },
      { command: 'agent -C DIR …', effect: 'names another directory' },
    ],
  });
}

/** Opens the agent root that the ports point at. Reads only. */
export async function openSession(ports: Ports): Promise<Session> {
  return openRoot(ports, await findRoot(ports));
}

/**
 * Opens a given agent root; `unfinished` also one whose init was interrupted. Unless `trusting` is false, signatures that this
 * host verified before are not verified again. Reads only.
 */
export async function openRoot(ports: Ports, root: string, { unfinished = false, trusting = true } = {}): Promise<Session> {
  const { files } = ports;
  const control = await controlOf(files, root);
  await refuseAbsent(files, root, control);
  const reader = directoryReader(files, control, root);
  if (!unfinished && !(await files.exists(join(control, FORMAT_FILE))))
    throw new AgentError('AGENT_MISSING', `an init of '${root}' was interrupted`, {
      hints: [{ command: `agent init ${word(root)} --recovery-kit FILE`, effect: 'the same command again finishes it' }],
    });
  if (!unfinished) await checkFormat(reader);
  const ledger = join(control, LEDGER_FILE);
  const head = ((await files.size(ledger)) ?? 0) > 0 ? await files.readRange(ledger, { offset: 0, length: FIRST_LINE }) : Buffer.alloc(0);
  if (head.length === 0) throw damaged('it is missing or empty');
  const host = await loadHost(files, ports.hostDirectory, ports.machine);
  const first = parseLine(head.toString('utf8', 0, Math.max(0, head.indexOf(0x0a))));
  const memory = await loadMemory(files, ports.hostDirectory, first.digest);
  // After the memory: beside a writer the ledger may be newer than what is remembered, and never older.
  const bytes = (await reader.read(LEDGER_FILE)) ?? Buffer.alloc(0);
  const chain = parseChain(bytes, {
    pending: memory?.pending === undefined ? undefined : `${memory.pending.line}\n`,
    verified: trusting ? verifiedOf(memory) : undefined,
  });
  const place = await placeOf(files, root);
  if (place === null) throw new AgentError('AGENT_MISSING', `'${root}' is gone`);
  const pending = memory?.pending === undefined ? null : parseLine(memory.pending.line);
  const { state, seen, relation } = standingOf(chain, { seen: memory?.seen ?? null, pending });
  const session = { ports, root, control, place, reader, chain, state, host, memory, pending, name: memory?.name ?? basename(root) };
  if (host === null) return { ...session, view: null };
  const view: HostView = {
    key: host.key.publicKey,
    self: compareHome(memory?.home ?? host.noted, host.actual),
    root: await rootRelation(session),
    seen: relation,
    seenEpoch: seen?.epoch ?? 0,
    seenOffered: seen?.offered ?? false,
  };
  return { ...session, view };
}

/** What this host verified of a ledger; the state only where the same fold made it. */
function verifiedOf(memory: AgentMemory | null): VerifiedPrefix | undefined {
  const verified = memory?.verified;
  if (verified === undefined) return undefined;
  const { length, digest, folded } = verified;
  return { length, digest, state: folded?.by === REDUCER ? (folded.state as LedgerState) : undefined };
}

/** Whether this host has keys at all. */
export function hasHost(session: Session): session is HostSession {
  return session.host !== null && session.view !== null;
}

async function rootRelation({ ports, memory, place, chain }: Pick<Session, 'ports' | 'memory' | 'place' | 'chain'>): Promise<RootRelation> {
  const registered = memory?.roots.find((one) => one.name === 'main')?.place;
  if (registered === undefined) return 'unknown';
  if (!samePlace(registered, place)) return 'elsewhere';
  if (registered.path === place.path) return 'registered';
  return (await agentAt(ports, registered.path)) === chain.state.agent ? 'elsewhere' : 'renamed';
}

/** The agent whose ledger lies in a directory, or null; an unreadable one counts as some other agent. */
export async function agentAt({ files }: Pick<Ports, 'files'>, root: string): Promise<Digest | null> {
  const bytes = await files.readIfPresent(join(await controlOf(files, root), LEDGER_FILE)).catch(() => null);
  if (bytes === null) return null;
  try {
    return parseLine(bytes.toString('utf8', 0, Math.max(0, bytes.indexOf(0x0a)))).digest;
  } catch {
    return null;
  }
}
