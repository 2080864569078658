import { STATUS, isAgentError } from '../core/errors.ts';
import { identitiesOf, loadHost, type Host } from '../host/home.ts';
import { loadMemory } from '../host/memory.ts';
import { compareSeen } from '../ledger/seen.ts';
import { decide } from '../ledger/decide.ts';
import { outsideRoots, UNCOPIED, type Facts, type Finding } from '../manifest/facts.ts';
import { directoryReader, type StoreReader } from '../store/reader.ts';
import { checkOpened, checkSealed, type StoreCheck } from './state/check-store.ts';
import { withBundle, type Bundle, type Input } from './bundle/bundle.ts';
import { GRAVITY, authorityLines, factLines, ledgerLine, severity, storeLine, treeLine, type CheckLine } from './state/check-lines.ts';
import { compareLive, type LiveDifference } from './state/live-tree.ts';
import { outsideChanges } from './state/outside-compare.ts';
import type { OpenState } from './state/open-state.ts';
import type { Profile } from '../profile/profile.ts';
import { explainObstacle } from './session/refusal.ts';
import type { Ports } from './session/ports.ts';
import { findRoot, hasHost, openRoot, type HostSession } from './session/session.ts';
import { readProfile } from './session/root-profile.ts';
import { controlOf } from './session/control.ts';

/** What was proved, and what was found. */
export interface VerifyResult {
  readonly subject: string;
  readonly agent: string;
  readonly seq: number;
  readonly epoch: number;
  readonly opened: boolean;
  readonly lines: readonly CheckLine[];
  readonly findings: readonly Finding[];
  readonly changes: LiveDifference['changes'];
  /** The exit status: the gravest finding's. */
  readonly status: number;
}

/** Proves a root, or a bundle file or directory. Reads every byte, trusts no index, writes nothing anywhere. */
export async function verify(ports: Ports, source: { readonly path: string | null; readonly input: Input }): Promise<VerifyResult> {
  if (source.path === null) return verifyRoot(ports, await findRoot(ports));
  return withBundle(ports, { path: source.path, input: source.input }, async (bundle) =>
    bundle.root === null ? verifyBundle(ports, bundle) : verifyRoot(ports, bundle.root),
  );
}

async function verifyBundle(ports: Ports, { reader, chain }: Bundle): Promise<VerifyResult> {
  const host = await loadHost(ports.files, ports.hostDirectory, ports.machine);
  const memory = await loadMemory(ports.files, ports.hostDirectory, chain.state.agent);
  const bases: StoreReader[] = [];
  for (const { place } of memory?.roots ?? []) bases.push(directoryReader(ports.files, await controlOf(ports.files, place.path)));
  const sealed = await checkSealed(reader, chain, { bases, threads: ports.threads });
  const opened = await openChecked({ reader, bases, sealed, host, chain, ports });
  const findings = [...sealed.findings, ...opened.findings];
  const lines = [ledgerLine(chain), storeLine(sealed)];
  if (opened.facts === null && findings.length === 0)
    lines.push({
      name: 'contents',
      ok: true,
      text: 'not opened: no key of this host fits; bytes, signatures and order are what the agent signed',
    });
  if (opened.facts !== null)
    lines.push(
      { name: 'contents', ok: true, text: `opened: every chunk of record ${String(sealed.newest?.seq ?? 0)} is what the tree says` },
      ...factLines(opened.facts),
    );
  const seen = compareSeen(chain, memory?.seen ?? null);
  if (seen === 'diverged') findings.push({ code: 'FORKED', subject: 'this host has seen another branch of this agent' });
  if (seen === 'behind')
    lines.push({ name: 'age', ok: true, text: `older than what this host has seen (record ${String(memory?.seen?.seq ?? 0)})` });
  return result(reader.name, chain, { opened: opened.facts !== null, lines, findings, changes: [] });
}

async function verifyRoot(ports: Ports, root: string): Promise<VerifyResult> {
  const session = await openRoot(ports, root, { trusting: false });
  const { chain, host, reader, state } = session;
  const sealed = await checkSealed(reader, chain, ports);
  const opened = await openChecked({ reader, bases: [], sealed, host, chain, ports });
  const findings: Finding[] = [...sealed.findings, ...opened.findings];
  const lines = [ledgerLine(chain), storeLine(sealed)];
  let changes: LiveDifference['changes'] = [];
  if (opened.state !== null && sealed.newest !== null) {
    const profile = await readProfile(session);
    const live = await compareLive(session, opened.state, { root, profile, trustIndex: false });
    const acting = session.view !== null && decide(state, session.view, 'act').allowed;
    changes = live.changes;
    lines.push(...factLines(opened.state.facts), treeLine(live, { acting, seq: sealed.newest.seq }));
    if (acting && hasHost(session)) lines.push(...(await outsideLines(session, opened.state, profile)));
    if (changes.length > 0 && !acting)
      findings.push({
        code: 'TREE_DIFFERS',
        subject: `${String(changes.length)} path${changes.length === 1 ? '' : 's'} differ from record ${String(sealed.newest.seq)}`,
      });
    if (live.ownSecrets.length > 0)
      lines.push({ name: 'own secrets', ok: true, text: `${String(live.ownSecrets.length)} files of class secret are this host's own` });
    for (const path of live.missingSecrets)
      findings.push({
        code: 'SECRET_MISSING',
        subject: path,
        class: 'secret',
        next: 'put it there by hand, or agent pack --include-secrets at the source',
      });
    findings.push(...live.scan.findings.filter((one) => one.code === 'FILE_UNREADABLE'));
  } else if (sealed.newest !== null && findings.length === 0)
    findings.push({ code: 'KEY_UNFIT', subject: `no key of this host opens '${root}'`, next: 'agent invite' });
  lines.push(...authorityLines(session));
  const obstacle = session.view === null ? null : decide(state, session.view, 'act');
  if (obstacle?.allowed === false && (obstacle.obstacle === 'STALE' || obstacle.obstacle === 'FORKED')) {
    const { message, hints } = explainObstacle(session, obstacle.obstacle);
    findings.push({ code: obstacle.obstacle, subject: message, next: hints.map((hint) => hint.command).join(' · ') });
  }
  return result(root, chain, { opened: opened.facts !== null, lines, findings, changes });
}

/** How what lies outside of the root stands to the record; where it is not at home here, it is not in place yet. */
async function outsideLines(session: HostSession, state: OpenState, profile: Profile): Promise<readonly CheckLine[]> {
  const roots = outsideRoots(state.facts);
  if (roots.length === 0) return [];
  const unmerged = state.facts.findings.filter(({ code }) => code === 'OUTSIDE_UNMERGED');
  if (unmerged.length > 0)
    return [{ name: 'outside', ok: false, text: unmerged.map(({ subject, next = '' }) => `${subject}: ${next}`).join('; ') }];
  const changes = await outsideChanges(session, state, { profile, trustIndex: false });
  const text = changes.length === 0 ? 'is what was recorded' : `has moved on: ${String(changes.length)} paths`;
  return [{ name: 'outside', ok: true, text: `${roots.map(({ name }) => name).join(', ')} ${text}` }];
}

interface ToOpen {
  readonly reader: StoreReader;
  readonly bases: readonly StoreReader[];
  readonly sealed: StoreCheck;
  readonly host: Host | null;
  readonly chain: Bundle['chain'];
  readonly ports: Ports;
}

/** Opens the newest complete state with this host's key; damage inside is a finding, a key that does not fit is none. */
async function openChecked({ reader, bases, sealed, host, chain, ports }: ToOpen): Promise<{
  readonly facts: Facts | null;
  readonly state: Awaited<ReturnType<typeof checkOpened>> | null;
  readonly findings: readonly Finding[];
}> {
  if (sealed.newest === null || host === null || sealed.baseNeeded || sealed.findings.some((one) => severity(one) === STATUS.damaged))
    return { facts: null, state: null, findings: [] };
  let done = 0;
  try {
    const state = await checkOpened(
      {
        readers: [reader, ...bases],
        ledger: chain.state,
        manifest: sealed.newest.manifest,
        identities: identitiesOf(host),
        threads: ports.threads,
      },
      (size) => {
        ports.progress({ phase: 'verify', bytes: BigInt((done += size)) });
      },
    );
    return { facts: state.facts, state, findings: state.facts.findings.filter((one) => UNCOPIED.has(one.code)) };
  } catch (error) {
    if (!isAgentError(error)) throw error;
    if (error.code === 'KEY_UNFIT') return { facts: null, state: null, findings: [] };
    return {
      facts: null,
      state: null,
      findings: [{ code: error.code === 'BUNDLE_INCOMPLETE' ? 'BUNDLE_DAMAGED' : error.code, subject: error.message }],
    };
  }
}

function result(
  subject: string,
  chain: Bundle['chain'],
  parts: Pick<VerifyResult, 'opened' | 'lines' | 'findings' | 'changes'>,
): VerifyResult {
  const severities = parts.findings.map(severity);
  const status = GRAVITY.find((one) => severities.includes(one)) ?? (severities.some((one) => one !== 0) ? STATUS.failed : STATUS.done);
  return { subject, agent: chain.state.agent, seq: chain.state.seq, epoch: chain.state.epoch, ...parts, status };
}
