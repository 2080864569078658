// Makes agents whose ledgers have some records, for the benchmark: node bench/bundled.js ledger DIRECTORY RECORDS…
import * as nodeFs from 'node:fs';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { checkpoint } from '../src/actions/checkpoint.ts';
import { init } from '../src/actions/init.ts';
import type { Ports } from '../src/actions/session/ports.ts';
import { openRoot } from '../src/actions/session/session.ts';
import { createFiles } from '../src/core/files.ts';
import { ownThread } from '../src/core/threads/job.ts';
import { loadMemory, saveMemory } from '../src/host/memory.ts';
import { foldRecords } from '../src/ledger/chain.ts';
import { signRecord, type LedgerRecord, type SignedRecord } from '../src/ledger/record.ts';
import { REDUCER } from '../src/ledger/reduce.ts';
import { seenOf } from '../src/ledger/seen.ts';
import { readMachine } from '../src/providers/machine.ts';
import { findSqlite } from '../src/providers/sqlite/sqlite.ts';
import { createProcessTable } from '../src/providers/processes.ts';

const [directory = '', ...counts] = process.argv.slice(2);
for (const count of counts.map(Number)) {
  const root = join(directory, `agent-${String(count)}`);
  mkdirSync(join(root, 'private'), { recursive: true });
  writeFileSync(join(root, 'private/self.json'), '{"version":1}\n');
  const files = createFiles(nodeFs);
  const ports: Ports = {
    files,
    clock: { now: () => Date.now(), sleep: () => Promise.resolve() },
    threads: ownThread,
    processes: createProcessTable(),
    machine: readMachine(),
    environment: process.env,
    random: randomBytes,
    hostDirectory: join(directory, `host-${String(count)}`),
    start: { directory: root, exact: false },
    cwd: root,
    profileDirectory: join(directory, 'profiles'),
    home: directory,
    sqlite: findSqlite,
    progress: () => undefined,
    fileSystem: () => Promise.resolve(null),
  };
  await init(ports, { directory: root, recovery: null, profile: 'native' });
  await checkpoint(ports);
  const { chain, host, control } = await openRoot(ports, root);
  if (host === null) throw new Error('no host');
  // Records of a gc that gave nothing up: a ledger of years without its packs.
  const records: SignedRecord[] = [...chain.records];
  for (let last = chain.state; records.length < count;) {
    const record: LedgerRecord = {
      format: 'perdure-ledger/1',
      seq: last.seq + 1,
      prev: last.head,
      agent: last.agent,
      by: host.key.publicKey,
      at: new Date().toISOString(),
      epoch: last.epoch,
      kind: 'gc',
      expired: [],
      folded: [],
    };
    const signed = signRecord(record, host.key);
    records.push(signed);
    last = { ...last, seq: record.seq, head: signed.digest };
  }
  const bytes = Buffer.from(records.map((one) => `${one.line}\n`).join(''));
  writeFileSync(join(control, 'ledger.jsonl'), bytes);
  const state = foldRecords(records);
  const memory = await loadMemory(files, ports.hostDirectory, state.agent);
  if (memory === null) throw new Error('no memory');
  const digest = createHash('sha256').update(bytes).digest('hex') as typeof state.head;
  await saveMemory(files, host.directory, {
    ...memory,
    seen: seenOf(state),
    verified: { length: bytes.length, digest, folded: { by: REDUCER, state } },
  });
}
