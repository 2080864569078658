import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { survey, type Survey } from '../capture/survey.ts';
import { canonical, type Json } from '../core/canonical.ts';
import { instant } from '../core/clock.ts';
import { AgentError } from '../core/errors.ts';
import { createHost, loadHost, withHybrid, type Host } from '../host/home.ts';
import { forgetAgent } from '../host/memory.ts';
import { placeOf } from '../host/place.ts';
import { parseChain } from '../ledger/chain.ts';
import { signRecord, type AgentId, type CosignedKind, type Epoch, type InitRecord, type RecoveryKey } from '../ledger/record.ts';
import { reduce } from '../ledger/reduce.ts';
import { generateAgeKey } from '../store/age.ts';
import { FORMAT_FILE, FORMAT_LINE, LEDGER_FILE } from '../store/layout.ts';
import type { Profile } from '../profile/profile.ts';
import { appendSigned } from './session/append-record.ts';
import { elsewhereOf } from './awake/keychain.ts';
import { agentsIn, type Outside } from './session/outside.ts';
import type { Ports } from './session/ports.ts';
import { checkAgentName } from './session/agent-name.ts';
import type { NewCustodian } from './custody.ts';
import { custodianKey } from './custodian/custodian.ts';
import { isHybrid } from '../ledger/policy.ts';
import { checkRecipient } from './keys.ts';
import { recipientFor } from './sealed/store-keys.ts';
import { checkKitPlace } from './custodian/kit-place.ts';
import { newRecoveryKit, readKit } from './custodian/recovery-kit.ts';
import { openRoot, type Session } from './session/session.ts';
import { settlePending } from './session/append-record.ts';
import { placeWarnings } from './place-warnings.ts';
import { chooseProfile, noteProfile } from './session/root-profile.ts';
import { underLock } from './session/writer.ts';
import { word } from '../core/shell.ts';
import { controlOf, isRoot, placeControl } from './session/control.ts';

/** What an agent is made of. */
export interface InitOptions {
  /** The directory to adopt, made where it does not exist. */
  readonly directory: string;
  /** The name of a profile, a file, or one that is at hand; found out where none is given. */
  readonly profile?: string | Profile | undefined;
  readonly name?: string | undefined;
  /** Where the control directory goes, if not into the root. */
  readonly control?: string | undefined;
  /** Path of the kit to write, whose recovery key to take, or null for an agent without one. */
  readonly recovery: NewCustodian | null;
  /** Whether all its keys are hybrid ones, safe from a quantum computer; it takes no others then. */
  readonly hybrid?: boolean;
  /** What a recovery key must sign, too. */
  readonly cosigned?: readonly CosignedKind[];
  /** The record of another agent that this one descends from. */
  readonly parent?: InitRecord['parent'];
}

/** The agent, and what a person should know of it. */
export interface InitResult {
  readonly session: Session;
  readonly profile: string;
  readonly survey: Survey;
  /** What lies outside and belongs to it. */
  readonly elsewhere: readonly Outside[];
  /** Agents of the instance, where it may hold several. */
  readonly agents: readonly string[];
  readonly kit: string | null;
  /** What a person has to know of the place. */
  readonly warnings: readonly string[];
}

/** Makes an agent of a directory, in place. Only `.perdure` is created in it, a directory or a file that says where it is. */
export async function init(ports: Ports, options: InitOptions): Promise<InitResult> {
  const { files } = ports;
  if (options.directory === '')
    throw new AgentError('USAGE_WRONG', 'the directory has no name', { hints: [{ command: 'agent init DIR --recovery-kit FILE' }] });
  const directory = resolve(ports.cwd, options.directory);
  const kit = options.recovery !== null && 'kit' in options.recovery ? resolve(ports.cwd, options.recovery.kit) : null;
  const given =
    options.recovery === null || 'kit' in options.recovery
      ? null
      : await givenKey(ports, { ...options.recovery, hybrid: options.hybrid === true });
  if (options.recovery === null && (options.cosigned ?? []).length > 0)
    throw new AgentError('USAGE_WRONG', 'a policy asks for the signature of a recovery key, and there is to be none', {
      hints: [{ command: 'agent init --recovery-kit FILE --cosign KIND', effect: 'nothing was changed' }],
    });
  const name = checkAgentName(options.name ?? (basename(directory).replace(/^\.+/, '') || basename(directory)));
  const profile = typeof options.profile === 'object' ? options.profile : await chooseProfile(ports, { name: options.profile, directory });
  await refuseNested(ports, directory);
  if ((await files.exists(await controlOf(files, directory))) && !(await isRoot(files, directory))) await refuseLiving(ports, directory);
  if (kit !== null) await checkKitPlace(ports, { kit, directory });
  const unfinished = await unfinishedInit(ports, directory, { kit, given });
  if (kit !== null && unfinished === null && (await files.exists(kit)))
    throw new AgentError('KIT_EXISTS', `'${kit}' exists; a kit is never overwritten`, {
      hints: [{ command: `agent init ${word(directory)} --recovery-kit OTHER-FILE`, effect: 'nothing was changed' }],
    });
  const found = (await files.exists(directory)) ? survey(await realpath(directory), profile) : null;
  const inner = found?.nested[0];
  if (inner !== undefined)
    throw new AgentError('AGENT_EXISTS', `'${inner}' in '${directory}' is an agent of its own`, {
      hints: [{ command: `agent -C ${word(join(directory, inner))} status`, effect: 'shows it; nothing was changed' }],
    });
  await files.makeDirectory(directory);
  const root = await realpath(directory);
  if (options.control !== undefined) await placeControl(files, { root, control: resolve(ports.cwd, options.control) });
  const control = await controlOf(files, root);
  await claimInit(ports, control);
  if (unfinished === null) await removeStillborn(ports, control);
  const classic =
    (await loadHost(files, ports.hostDirectory, ports.machine)) ??
    (await createHost(files, { directory: ports.hostDirectory, machine: ports.machine, ...(await generateAgeKey()) }));
  const host = options.hybrid === true ? await withHybrid(files, classic, () => generateAgeKey({ hybrid: true })) : classic;
  if (unfinished === null) await begin(ports, { ...options, root, control, host, kit, given, name });
  else await underLock(ports, unfinished, async () => settlePending(await openRoot(ports, root, { unfinished: true })));
  await noteProfile(files, control, profile);
  // Last: a control directory without it is an init that was interrupted.
  await files.replace(join(control, FORMAT_FILE), FORMAT_LINE);
  await files.remove(claimPath(control));
  return {
    session: await openRoot(ports, root),
    profile: profile.data.name,
    survey: found ?? survey(root, profile),
    elsewhere: await elsewhereOf(ports, root, profile),
    agents: await agentsIn(ports, root, profile),
    kit,
    warnings: await placeWarnings(ports, root),
  };
}

async function givenKey(
  ports: Ports,
  { key, recipient, hybrid }: { readonly key: string; readonly recipient: string; readonly hybrid: boolean },
): Promise<RecoveryKey> {
  await checkRecipient(recipient);
  if (hybrid && !isHybrid(recipient))
    throw new AgentError('USAGE_WRONG', 'with --pq the recovery recipient is a hybrid one, too (age1pq1…)', {
      hints: [{ command: 'age-keygen -pq', effect: 'of age 1.3 or newer makes one; nothing was changed' }],
    });
  return custodianKey(ports, { key, recipient });
}

async function begin(
  ports: Ports,
  options: Pick<InitOptions, 'cosigned' | 'parent' | 'hybrid'> & {
    readonly root: string;
    readonly control: string;
    readonly host: Host;
    readonly kit: string | null;
    readonly given: RecoveryKey | null;
    readonly name: string;
  },
): Promise<void> {
  const { root, control, host, kit, given, name, cosigned = [], parent, hybrid = false } = options;
  const { files } = ports;
  const place = await placeOf(files, root);
  if (place === null) throw new AgentError('INTERNAL', `'${root}' vanished`);
  const made = kit === null ? null : await newRecoveryKit(name, { hybrid });
  const recovery = made?.key ?? given;
  const record: InitRecord = {
    format: 'perdure-ledger/1',
    kind: 'init',
    seq: 0,
    epoch: 1 as Epoch,
    by: host.key.publicKey,
    at: instant(ports.clock.now()),
    recipient: hybrid ? recipientFor(host, { hybrid }) : host.recipient,
    nonce: ports.random(16).toString('hex'),
    recovery: recovery === null ? [] : [recovery],
    policy: { cosigned: [...cosigned].sort() },
    ...(parent === undefined ? {} : { parent }),
  };
  const signed = signRecord(record, host.key);
  await underLock(ports, signed.digest, async () => {
    await appendSigned(
      {
        session: { ports, control, place, name, memory: null, host },
        signedAs: host.actual,
        before: Buffer.alloc(0),
        after: reduce(null, signed),
        torn: 0,
      },
      signed,
    );
    if (kit !== null && made !== null && !(await files.create(kit, made.text)))
      throw new AgentError('KIT_EXISTS', `'${kit}' appeared meanwhile; it was left as it is`);
  });
}

/** The agent of an interrupted init that the same command can finish: its ledger is there and the kit is its kit. */
async function unfinishedInit(
  { files }: Ports,
  directory: string,
  { kit, given }: { readonly kit: string | null; readonly given: RecoveryKey | null },
): Promise<AgentId | null> {
  const bytes = await files.readIfPresent(join(await controlOf(files, directory), LEDGER_FILE));
  if (bytes === null || !bytes.includes(0x0a)) return null;
  const { state } = parseChain(bytes);
  const [recovery] = state.recovery;
  const wanted = kit === null ? given : await readKit(files, kit);
  return wanted?.key === recovery?.key && (recovery !== undefined) === (kit !== null || given !== null) ? state.agent : null;
}

/** Clears what an init left that cannot be finished: no key of it was ever shown to anybody. */
async function removeStillborn({ files, hostDirectory }: Ports, control: string): Promise<void> {
  const bytes = await files.readIfPresent(join(control, LEDGER_FILE));
  if (bytes?.includes(0x0a) === true) await forgetAgent(files, hostDirectory, parseChain(bytes).state.agent);
  for (const name of await files.list(control)) if (name !== 'local') await files.removeTree(join(control, name));
}

/** A control directory without `format` is an init that was cut only where nothing but a first record can be in it. */
async function refuseLiving({ files }: Ports, directory: string): Promise<void> {
  const control = await controlOf(files, directory);
  const names = await files.list(control);
  const bytes = await files.readIfPresent(join(control, LEDGER_FILE));
  const lines = bytes?.toString('utf8').split('\n').length ?? 0;
  if (names.every((name) => name === 'local' || name === LEDGER_FILE || name.endsWith('.tmp')) && lines <= 2) return;
  throw new AgentError('AGENT_EXISTS', `'${directory}' holds an agent whose format file is gone`, {
    hints: [
      { command: `printf '${FORMAT_LINE.trim()}\\n' >${word(join(control, FORMAT_FILE))}`, effect: 'puts it back; nothing was changed' },
    ],
  });
}

/** An agent does not lie within another one, nor is one made twice. */
async function refuseNested({ files }: Ports, directory: string): Promise<void> {
  for (let at = directory; ; at = dirname(at)) {
    if (await isRoot(files, at))
      throw new AgentError(
        'AGENT_EXISTS',
        at === directory ? `'${at}' is an agent already` : `'${directory}' lies within the agent '${at}'`,
        {
          hints: [{ command: `agent -C ${word(at)} status`, effect: 'shows it; nothing was changed' }],
        },
      );
    if (at === dirname(at)) return;
  }
}

async function claimInit({ files, processes }: Ports, control: string): Promise<void> {
  await files.makeDirectory(control);
  const mine = canonical(processes.self as unknown as Json);
  if (await files.create(claimPath(control), mine)) return;
  const other = JSON.parse((await files.read(claimPath(control))).toString('utf8')) as typeof processes.self;
  if (processes.isAlive(other) && other.pid !== processes.self.pid)
    throw new AgentError('RACE_LOST', `process ${String(other.pid)} is making an agent of this directory`, {
      hints: [{ command: 'agent status' }],
    });
  await files.replace(claimPath(control), mine);
}

function claimPath(control: string): string {
  return join(control, 'local', 'init');
}
