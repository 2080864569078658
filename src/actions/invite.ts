import { statfs } from 'node:fs/promises';
import { instant } from '../core/clock.ts';
import { AgentError } from '../core/errors.ts';
import { createHost, loadHost, withHybrid } from '../host/home.ts';
import { knownAgents, loadMemory } from '../host/memory.ts';
import { compareHome } from '../host/place.ts';
import { hostWords, signMessage, type Invite } from '../ledger/message.ts';
import { isOnPath } from '../providers/commands.ts';
import { generateAgeKey } from '../store/age.ts';
import { recipientFor } from './sealed/store-keys.ts';
import type { Ports } from './session/ports.ts';
import { openRoot } from './session/session.ts';
import { word } from '../core/shell.ts';

/** Programs that a body often needs, looked for on PATH. */
const TOOLS: readonly string[] = ['age', 'bash', 'git', 'node', 'python3', 'rsync', 'sqlite3', 'ssh'];

/** An invite, and how to recognise it. */
export interface InviteResult {
  /** The document, for `agent fence --to`. */
  readonly document: string;
  readonly words: string;
  readonly label: string;
}

/**
 * Makes an invite of this host: its keys, abilities, and what it already has. Makes the host's keys where there are none; with
 * `hybrid` one for agents that take no others.
 */
export async function invite(ports: Ports, { hybrid = false }: { readonly hybrid?: boolean } = {}): Promise<InviteResult> {
  const { files, hostDirectory: directory, machine } = ports;
  const classic =
    (await loadHost(files, directory, machine)) ?? (await createHost(files, { directory, machine, ...(await generateAgeKey()) }));
  const host = hybrid ? await withHybrid(files, classic, () => generateAgeKey({ hybrid })) : classic;
  const recipient = hybrid ? recipientFor(host, { hybrid }) : host.recipient;
  if (compareHome(host.noted, host.actual) !== 'same')
    throw new AgentError(
      compareHome(host.noted, host.actual) === 'cloned' ? 'CLONED' : 'RESTORED',
      `the host directory '${directory}' was copied or restored: another host may have these keys`,
      {
        hints: [
          {
            command: 'agent resume --here --yes --reason TEXT',
            effect: 'in an agent that this host held: you say that no other has these keys',
          },
          {
            command: `mv ${word(directory)} ${word(`${directory}.old`)}`,
            effect: 'and invite again: this becomes a new host, and what the old keys open stays closed',
          },
        ],
      },
    );
  const message: Invite = {
    format: 'perdure-invite/1',
    by: host.key.publicKey,
    recipient,
    label: machine.label,
    at: instant(ports.clock.now()),
    abilities: {
      node: machine.node,
      platform: machine.platform,
      tools: TOOLS.filter((one) => isOnPath(one, ports.environment['PATH'])),
      freeBytes: await freeBytes(ports.cwd),
    },
    has: await statesHere(ports, directory),
  };
  return {
    document: signMessage(message, host.key),
    words: hostWords({ key: host.key.publicKey, recipient }),
    label: machine.label,
  };
}

async function freeBytes(path: string): Promise<string> {
  const { bavail, bsize } = await statfs(path, { bigint: true });
  return String(bavail * bsize);
}

/** The agents whose roots lie here, with the newest state of each: what is in its packs need not travel again. */
async function statesHere(ports: Ports, directory: string): Promise<Invite['has']> {
  const has: Invite['has'][number][] = [];
  for (const agent of await knownAgents(ports.files, directory)) {
    const root = (await loadMemory(ports.files, directory, agent))?.roots[0]?.place.path;
    if (root === undefined) continue;
    // A root that is gone or damaged has nothing to build on.
    const session = await openRoot(ports, root).catch(() => null);
    if (session?.chain.state.agent !== agent) continue;
    const { agent: id, seq, head, manifest } = session.chain.state;
    has.push({ agent: id, seq, digest: head, ...(manifest === null ? {} : { manifest }) });
  }
  return has;
}
