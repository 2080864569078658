import type { Digest } from '../../src/core/digest.ts';
import type { PublicKey } from '../../src/core/ssh/key.ts';
import type { AppendSteps } from '../../src/ledger/append.ts';
import { CONDITIONS, type Action, type Condition, type HostView } from '../../src/ledger/conditions.ts';
import { decide } from '../../src/ledger/decide.ts';
import type { LedgerRecord } from '../../src/ledger/record.ts';
import { epochAfter, type Entry } from '../../src/ledger/reduce.ts';
import { compareSeen, seenOf, type Seen } from '../../src/ledger/seen.ts';
import { standingOf, type Standing } from '../../src/ledger/standing.ts';

import {
  HOSTS,
  RECOVERY,
  RULES,
  SLOTS,
  chainOf,
  entries,
  key,
  restored,
  withMedia,
  withMemory,
  type HostName,
  type Memory,
  type Move,
  type Rules,
  type World,
} from './world.ts';

/** All roots that may act now, whatever lies in them. */
export function actors(world: World, rules: Rules): readonly string[] {
  const found: string[] = [];
  for (const host of HOSTS)
    for (const slot of SLOTS)
      if (!isOff(world, host) && world.media.some((head) => may(world, rules, { host, slot, head }, 'act') !== null))
        found.push(`${host}${String(slot)}`);
  return found;
}

/** Whether a host is off, as a person said, and has not seen the record that says so. */
function isOff(world: World, host: HostName): boolean {
  const said = world.off[host];
  return said !== null && world.memories[host].seen?.digest.startsWith(said) !== true;
}

interface Root {
  readonly host: HostName;
  readonly slot: number;
  readonly head: string;
}

function look(world: World, rules: Rules, { host, slot, head }: Root): { readonly standing: Standing; readonly view: HostView } | null {
  const chain = chainOf(head, rules);
  if (chain === null) return null;
  const memory = world.memories[host];
  const standing = standingOf(chain, { seen: memory.seen, pending: memory.pending?.entry ?? null }, rules.conditions);
  const view: HostView = {
    key: key(host),
    self: memory.self,
    root: memory.registered === null ? 'unknown' : memory.registered === slot ? 'registered' : 'elsewhere',
    seen: standing.relation,
    seenEpoch: standing.seen?.epoch ?? 0,
    seenOffered: standing.seen?.offered ?? false,
  };
  return { standing, view };
}

function may(world: World, rules: Rules, root: Root, action: Action): Standing | null {
  const seen = look(world, rules, root);
  return seen !== null && decide(seen.standing.state, seen.view, action, rules.conditions).allowed ? seen.standing : null;
}

/** Every world that one step leads to. */
export function moves(world: World, rules: Rules): readonly Move[] {
  const found: Move[] = [];
  for (const host of HOSTS) {
    if (isOff(world, host)) {
      for (const head of world.media)
        if (head.startsWith(world.off[host] ?? '-')) found.push(...rehydrate(world, rules, { host, slot: 0, head }));
      continue;
    }
    for (const slot of SLOTS) for (const head of world.media) found.push(...rootMoves(world, rules, { host, slot, head }));
    if (rules.restores)
      for (const memory of world.past[host])
        found.push({ name: `restore the host directory of ${host}`, world: withMemory(world, host, restored(memory)) });
  }
  return found;
}

function rootMoves(world: World, rules: Rules, root: Root): readonly Move[] {
  const found: Move[] = [];
  const { host, slot, head } = root;
  const name = (what: string): string => `${what} on ${host}${String(slot)} at ${head}`;
  const settled = settle(world, rules, root);
  if (settled !== null) found.push({ name: name('go on with the pending record'), world: settled });
  const write = (action: Action, record: Partial<LedgerRecord>): void => {
    const standing = may(world, rules, root, action);
    if (standing === null || standing.state.seq >= rules.records) return;
    // There is nothing to answer where a pending record answers already.
    if ('offer' in record && standing.state.offer?.digest !== record.offer) return;
    const human = action === 'resume-here' && world.memories[host].self !== 'same';
    // A person who asserts that a restored host is the host tells the truth here; the design says what happens else.
    if (human && (world.truth.head !== standing.state.head || standing.state.holder !== key(host))) return;
    const forsaken =
      action === 'accept-loss' && standing.seen !== null ? { forsaken: { seq: standing.seen.seq, digest: standing.seen.digest } } : {};
    // A writer first goes on with what is pending, in whichever root it was begun.
    const ready = settleHere(world, rules, root);
    if (ready.world !== world) found.push({ name: name('go on before writing'), world: ready.world });
    found.push(...append(ready.world, rules, ready.root, { standing, record: { ...record, ...forsaken } }));
  };
  if (rules.checkpoints) write('checkpoint', { kind: 'checkpoint', manifest: 'm' as Digest });
  if (chainOf(head, rules)?.state.fenced === false) write('fence', { kind: 'fence' });
  else for (const target of HOSTS) if (target !== host) write('offer', { kind: 'offer', manifest: 'm' as Digest, target: key(target) });
  const offer = chainOf(head, rules)?.state.offer?.digest;
  if (offer !== undefined) {
    write('promote', { kind: 'promote', offer });
    write('decline', { kind: 'decline', offer });
  }
  if (may(world, rules, root, 'act') === null) {
    write('resume', { kind: 'resume' });
    write('resume-here', { kind: 'resume', asserted: 'here' });
  }
  write('accept-loss', { kind: 'resume', asserted: 'accept-loss' });
  if (rules.custody) found.push(...revoke(world, rules, root), ...recover(world, rules, root));
  found.push(...rehydrate(world, rules, root), ...close(world, rules, root));
  return found;
}

/** The source takes its offer back: by the recovery key, where a person knows that the target has not promoted; or it tries to without. */
function revoke(world: World, rules: Rules, root: Root): readonly Move[] {
  const { host } = root;
  const standing = may(world, rules, root, 'revoke');
  const offer = standing?.state.offer;
  if (standing === null || offer == null || standing.state.holder !== key(host) || standing.state.seq >= rules.records) return [];
  const record = { kind: 'revoke', offer: offer.digest, sealed: '' } as const;
  const ready = settleHere(world, rules, root);
  const target = HOSTS.find((one) => key(one) === offer.target);
  const truthful = world.truth.head === standing.state.head && target !== undefined && target !== host;
  return [
    ...append(ready.world, rules, ready.root, { standing, record }),
    ...(truthful ? append(ready.world, rules, ready.root, { standing, record, by: RECOVERY, off: [target] }) : []),
  ];
}

/** A host takes the agent over from any ledger; a person says that all others are off. */
function recover(world: World, rules: Rules, root: Root): readonly Move[] {
  const { host, slot } = root;
  const found = look(world, rules, root);
  if (found === null || found.standing.state.seq >= rules.records || may(world, rules, root, 'act') !== null) return [];
  // On a host directory that was put back, a recover from an older ledger forgets a later recover of this very host: nothing
  // here knows better than the person, who tells the truth.
  if (world.memories[host].self !== 'same' && world.truth.head !== found.standing.state.head) return [];
  const { seen } = found.standing;
  const gone = seen !== null && found.standing.relation !== 'contained';
  const dropped = gone ? [{ seq: seen.seq, digest: seen.digest, epoch: seen.epoch }] : [];
  const record = { kind: 'recover', holder: key(host), recipient: '', dropped, storeKeys: [], sealed: '' } as const;
  const ready = settleHere(withMemory(world, host, { ...world.memories[host], registered: slot }), rules, root);
  return append(ready.world, rules, ready.root, {
    standing: found.standing,
    record,
    by: RECOVERY,
    off: HOSTS.filter((one) => one !== host),
  });
}

/** Signs a record and appends it, cut after each step of the program's order. */
function append(
  world: World,
  rules: Rules,
  root: Root,
  {
    standing,
    record,
    by = key(root.host),
    off = [],
  }: {
    readonly standing: Standing;
    readonly record: Partial<LedgerRecord>;
    readonly by?: PublicKey;
    /** Hosts that a person says are off. */
    readonly off?: readonly HostName[];
  },
): readonly Move[] {
  const { host, slot, head } = root;
  const { state } = standing;
  const asserted = record.kind === 'resume' ? record.asserted : undefined;
  const kind = record.kind as Exclude<LedgerRecord['kind'], 'init'>;
  const code = `${by === RECOVERY || kind !== 'revoke' ? '' : 'forged-'}${kind === 'resume' ? (asserted ?? 'resume') : kind}${record.kind === 'recover' ? `(${String(record.dropped?.map((one) => `${String(one.epoch)}${one.digest.slice(-4)}`).join())})` : ''}${record.kind === 'offer' ? `>${String(record.target)}` : ''}`;
  const full = {
    ...record,
    seq: state.seq + 1,
    prev: head,
    agent: state.agent,
    by,
    epoch: epochAfter(state, { ...(record as { kind: typeof kind }), asserted }),
  } as LedgerRecord;
  const forsaken = record.kind === 'resume' && record.forsaken !== undefined ? `-${record.forsaken.digest}` : '';
  const digest = `${head}/${host}:${code}${forsaken === '' ? '' : `(${forsaken.length.toString()}${forsaken.slice(-6)})`}` as Digest;
  const entry: Entry = { record: full, digest };
  entries.set(digest, entry);
  // A record that no reader takes is none.
  if (kind === 'revoke' && chainOf(digest, rules) === null) return [];
  const { order } = rules;
  const found: Move[] = [];
  for (let cut = 1; cut <= order.length; cut++) {
    let now = world;
    const steps: AppendSteps<void> = {
      pending: () =>
        (now = {
          ...withMemory(now, host, { ...now.memories[host], pending: { entry, slot, home: 'same' } }, truthAfter(now, entry)),
          off: { ...now.off, ...Object.fromEntries(off.map((one) => [one, digest])) },
        }),
      claim: () => undefined,
      append: () => (now = withMedia(now, digest)),
      settle: () => (now = withMemory(now, host, settledMemory(now.memories[host], { entry, slot, home: 'same' }, rules))),
    };
    for (const step of order.slice(0, cut)) steps[step]();
    found.push({
      name: `${host}${String(slot)} ${code} at ${head}${cut < order.length ? `, cut after ${order[cut - 1] ?? ''}` : ''}`,
      world: now,
    });
  }
  return found;
}

function settledMemory(memory: Memory, { entry, slot, home }: NonNullable<Memory['pending']>, rules: Rules): Memory {
  const chain = chainOf(entry.digest, rules);
  const { record } = entry;
  const confirmed = record.kind === 'promote' || record.kind === 'recover' || (record.kind === 'resume' && record.asserted === 'here');
  return {
    seen: chain === null ? memory.seen : seenOf(chain.state),
    pending: null,
    registered: slot,
    self: confirmed ? home : memory.self,
  };
}

function settleHere(world: World, rules: Rules, root: Root): { readonly world: World; readonly root: Root } {
  const { pending } = world.memories[root.host];
  const outcome = look(world, rules, root)?.standing.outcome;
  if (pending === null || (outcome !== 'append' && outcome !== 'settle')) return { world, root };
  const after = settledMemory(world.memories[root.host], { ...pending, slot: root.slot }, rules);
  return {
    world: withMemory(withMedia(world, pending.entry.digest), root.host, after),
    root: outcome === 'append' ? { ...root, head: pending.entry.digest } : root,
  };
}

/** What a command does first under the lock, in the root where the record was begun. */
function settle(world: World, rules: Rules, root: Root): World | null {
  const { host, slot } = root;
  const memory = world.memories[host];
  if (memory.pending?.slot !== slot) return null;
  const { entry } = memory.pending;
  const outcome = look(world, rules, root)?.standing.outcome;
  if (outcome !== 'append' && outcome !== 'settle') return null;
  return withMemory(withMedia(world, entry.digest), host, settledMemory(memory, memory.pending, rules));
}

/** Puts a ledger in place as `agent rehydrate` does: never an older one, never over a root that may act. */
function rehydrate(world: World, rules: Rules, root: Root): readonly Move[] {
  const { host, slot, head } = root;
  const memory = world.memories[host];
  const chain = chainOf(head, rules);
  const seenRule = rules.conditions.some((one) => one.name === 'seen');
  if (chain === null) return [];
  const seen: Seen | null =
    memory.pending === null
      ? memory.seen
      : {
          seq: memory.pending.entry.record.seq,
          digest: memory.pending.entry.digest,
          epoch: memory.pending.entry.record.epoch,
          offered: false,
        };
  const relation = compareSeen(chain, seen);
  if (seenRule && relation !== 'none' && relation !== 'contained') return [];
  const takesPlace = memory.registered === slot || (chain.state.holder !== key(host) && memory.registered === null);
  return [
    {
      name: `rehydrate ${head} into ${host}${String(slot)}`,
      world: withMemory(world, host, { ...memory, seen: seenOf(chain.state), registered: takesPlace ? slot : memory.registered }),
    },
  ];
}

/** Brings home an answer that lies in some ledger, as `agent close` does. */
function close(world: World, rules: Rules, { host, slot, head }: Root): readonly Move[] {
  const seen = look(world, rules, { host, slot, head });
  if (
    seen === null ||
    seen.view.root === 'elsewhere' ||
    seen.view.seen === 'behind' ||
    seen.view.seen === 'diverged' ||
    world.memories[host].pending !== null
  )
    return [];
  const found: Move[] = [];
  for (const answer of world.media) {
    const { record } = entries.get(answer) as Entry;
    if ((record.kind !== 'promote' && record.kind !== 'decline') || record.prev !== head) continue;
    const chain = chainOf(answer, rules);
    if (chain === null) continue;
    found.push({
      name: `close ${answer} on ${host}${String(slot)}`,
      world: withMemory(world, host, { ...world.memories[host], seen: seenOf(chain.state) }),
    });
  }
  return found;
}

function truthAfter({ truth }: World, { record, digest }: Entry): World['truth'] {
  if (record.kind === 'checkpoint') return { ...truth, head: digest };
  return { head: digest, stopped: record.kind === 'fence' || record.kind === 'offer' };
}

/** The experiment's rules without one condition. */
export function without(name: Condition['name']): Rules {
  return { ...RULES, custody: name === 'custody', restores: name !== 'custody', conditions: CONDITIONS.filter((one) => one.name !== name) };
}
