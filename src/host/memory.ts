import { join } from 'node:path';
import { canonical, parseJson, type Json } from '../core/canonical.ts';
import type { Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { memoryValid } from '../core/generated/validators.js';
import type { HomeId, Place } from './place.ts';
import { word } from '../core/shell.ts';

/** What this host remembers of one agent, outside every root: an older tree is known as older by it. */
export interface AgentMemory {
  readonly format: 'perdure-memory/1';
  readonly agent: Digest;
  readonly name: string;
  /** Who this host was when it last confirmed to hold or know the agent. */
  readonly home: HomeId;
  /** The roots that are the agent here; others are copies. */
  readonly roots: readonly { readonly name: string; readonly place: Place }[];
  readonly seen?: {
    readonly seq: number;
    readonly digest: Digest;
    readonly epoch: number;
    readonly offered: boolean;
    readonly custody?: Digest;
  };
  /**
   * The beginning of the ledger that this host verified: length in bytes, their digest, and the state that they fold to, with
   * the number of the reducer that made it.
   */
  readonly verified?: {
    readonly length: number;
    readonly digest: Digest;
    readonly folded?: { readonly by: number; readonly state: unknown };
  };
  /** A record that was signed and may or may not be in the ledger: it is the next one or none is; and who this host was then. */
  readonly pending?: { readonly line: string; readonly place: Place; readonly home: HomeId };
}

/** Reads what this host remembers of an agent; null where it never met it. Throws HOST_DAMAGED. */
export async function loadMemory(files: Files, directory: string, agent: Digest): Promise<AgentMemory | null> {
  const path = memoryPath(directory, agent);
  const bytes = await files.readIfPresent(path);
  if (bytes === null) return null;
  const value = parseJson(bytes.toString('utf8'));
  if (!memoryValid(value) || (value as AgentMemory).agent !== agent)
    throw new AgentError(
      'HOST_DAMAGED',
      `'${path}' is damaged; it says what this host last saw of the agent, and nothing may act without it`,
      {
        hints: [
          {
            command: `mv ${word(path)} ${word(`${path}.damaged`)}`,
            effect: 'then `agent resume --here` asks you whether this copy is the newest',
          },
        ],
      },
    );
  return value as AgentMemory;
}

/** Writes what this host remembers; durable when it returns. */
export async function saveMemory(files: Files, directory: string, memory: AgentMemory): Promise<void> {
  await files.replace(memoryPath(directory, memory.agent), `${canonical(memory as unknown as Json)}\n`);
}

/** Forgets an agent that never came to be. */
export async function forgetAgent(files: Files, directory: string, agent: Digest): Promise<void> {
  await files.remove(memoryPath(directory, agent));
}

/** The agents that this host remembers. */
export async function knownAgents(files: Files, directory: string): Promise<readonly Digest[]> {
  const names = await files.list(join(directory, 'agents'));
  return names.filter((name) => /^[0-9a-f]{64}\.json$/.test(name)).map((name) => name.slice(0, 64) as Digest);
}

function memoryPath(directory: string, agent: Digest): string {
  return join(directory, 'agents', `${agent}.json`);
}
