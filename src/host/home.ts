import { join } from 'node:path';
import { canonical, parseJson, type Json } from '../core/canonical.ts';
import { instant } from '../core/clock.ts';
import type { Digest } from '../core/digest.ts';
import { AgentError } from '../core/errors.ts';
import type { Files } from '../core/files.ts';
import { hostValid } from '../core/generated/validators.js';
import { exportSigningKey, generateSigningKey, importSigningKey, type PublicKey, type SigningKey } from '../core/ssh/key.ts';
import type { HomeId } from './place.ts';
import { word } from '../core/shell.ts';

/** What the machine and the account say of themselves. */
export interface Machine {
  readonly id: string;
  readonly uid: number;
  /** `user@name`, for people. */
  readonly label: string;
  /** Kind of operating system, and the version of Node. */
  readonly platform: string;
  readonly node: string;
}

/** A host that this one has met. */
export interface KnownHost {
  readonly key: PublicKey;
  readonly recipient: string;
  readonly label: string;
  readonly at: string;
}

/** This host: its keys, who it remembers to be, and who it is now. */
export interface Host {
  readonly directory: string;
  readonly key: SigningKey;
  /** The age identity, secret. */
  readonly identity: string;
  readonly recipient: string;
  /** A second age key, for agents that take hybrid (post-quantum) recipients only; made when one is asked for. */
  readonly hybrid: AgeKey | null;
  readonly label: string;
  readonly known: readonly KnownHost[];
  /** Digests of profiles whose commands this host runs. */
  readonly allowed: readonly Digest[];
  readonly noted: HomeId;
  readonly actual: HomeId;
}

/** An age identity, secret, and its recipient. */
export interface AgeKey {
  readonly identity: string;
  readonly recipient: string;
}

interface HostFile {
  readonly format: 'perdure-host/1';
  readonly label: string;
  readonly identity: string;
  readonly recipient: string;
  readonly hybrid?: AgeKey;
  readonly home: HomeId;
  readonly known: readonly KnownHost[];
  readonly allowed: readonly Digest[];
}

/** Reads this host's keys; null where it has none yet. Writes nothing. Throws HOST_DAMAGED. */
export async function loadHost(files: Files, directory: string, machine: Machine): Promise<Host | null> {
  const keyPath = join(directory, 'host.key');
  const text = await files.readIfPresent(keyPath);
  const bytes = await files.readIfPresent(join(directory, 'host.json'));
  if (text === null && bytes === null) return null;
  if (text === null || bytes === null) {
    if ((await files.list(join(directory, 'agents'))).length === 0) return null;
    throw damaged(directory, text === null ? 'host.key is missing' : 'host.json is missing');
  }
  const key = importSigningKey(text.toString('utf8'));
  const file = parseJson(bytes.toString('utf8'));
  if (typeof file === 'object' && file !== null && 'format' in file && file.format !== 'perdure-host/1')
    throw new AgentError(
      'FORMAT_UNSUPPORTED',
      `'${join(directory, 'host.json')}' is in '${String(file.format)}'; this program reads perdure-host/1`,
    );
  if (key === null || !hostValid(file)) throw damaged(directory, key === null ? 'host.key is no Ed25519 key' : 'host.json is not valid');
  const { identity, recipient, hybrid = null, label, known, allowed, home } = file as HostFile;
  return {
    directory,
    key,
    identity,
    recipient,
    hybrid,
    label,
    known,
    allowed,
    noted: home,
    actual: await homeId(files, directory, machine),
  };
}

/** Makes this host's keys. `identity` and `recipient` are a fresh age identity. Durable when it returns. */
export async function createHost(
  files: Files,
  {
    directory,
    machine,
    identity,
    recipient,
  }: { readonly directory: string; readonly machine: Machine; readonly identity: string; readonly recipient: string },
): Promise<Host> {
  const key = generateSigningKey();
  // A crash between the two files leaves a key that no agent knows; the next call makes another.
  if (!(await files.create(join(directory, 'host.key'), exportSigningKey(key, machine.label))))
    return adoptHost(files, { directory, machine, identity, recipient });
  return saveNew(files, { directory, machine, identity, recipient }, key);
}

/** Takes the key that is there: another process made it just now, or a crash left it without host.json. */
async function adoptHost(files: Files, { directory, machine, identity, recipient }: Parameters<typeof createHost>[1]): Promise<Host> {
  const there = await loadHost(files, directory, machine);
  if (there !== null) return there;
  const key = importSigningKey((await files.read(join(directory, 'host.key'))).toString('utf8'));
  if (key === null) throw damaged(directory, 'host.key is no Ed25519 key');
  return saveNew(files, { directory, machine, identity, recipient }, key);
}

async function saveNew(
  files: Files,
  { directory, machine, identity, recipient }: Parameters<typeof createHost>[1],
  key: Host['key'],
): Promise<Host> {
  const home = await homeId(files, directory, machine);
  const host = {
    directory,
    key,
    identity,
    recipient,
    hybrid: null,
    label: machine.label,
    known: [],
    allowed: [],
    noted: home,
    actual: home,
  };
  await saveHost(files, host);
  return host;
}

/** Writes host.json. */
export async function saveHost(files: Files, host: Host): Promise<void> {
  const file: HostFile = {
    format: 'perdure-host/1',
    label: host.label,
    identity: host.identity,
    recipient: host.recipient,
    ...(host.hybrid === null ? {} : { hybrid: host.hybrid }),
    home: host.noted,
    known: host.known,
    allowed: host.allowed,
  };
  await files.replace(join(host.directory, 'host.json'), `${canonical(file as unknown as Json)}\n`);
}

/** The age identities of a host: whatever is sealed to it opens to one of them. */
export function identitiesOf(host: Host | null): readonly string[] {
  return host === null ? [] : [host.identity, ...(host.hybrid === null ? [] : [host.hybrid.identity])];
}

/** The host with a hybrid key, which is made where there is none. Durable when it returns. */
export async function withHybrid(files: Files, host: Host, make: () => Promise<AgeKey>): Promise<Host> {
  if (host.hybrid !== null) return host;
  const grown = { ...host, hybrid: await make() };
  await saveHost(files, grown);
  return grown;
}

/** Adds a host to those that this one knows; the newest label and recipient stand. */
export function withKnown(host: Host, other: Omit<KnownHost, 'at'>, now: number): Host {
  return { ...host, known: [...host.known.filter((one) => one.key !== other.key), { ...other, at: instant(now) }] };
}

async function homeId(files: Files, directory: string, machine: Machine): Promise<HomeId> {
  const id = await files.identify(join(directory, 'host.key'));
  return { machine: machine.id, uid: machine.uid, ino: id?.ino ?? '0', birth: id?.birth ?? '0' };
}

function damaged(directory: string, what: string): AgentError {
  return new AgentError('HOST_DAMAGED', `the host directory '${directory}' is damaged: ${what}`, {
    hints: [
      {
        command: `ls -la ${word(directory)}`,
        effect: 'put host.key and host.json back from where they went; without them this host is another host',
      },
    ],
  });
}
