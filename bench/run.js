// Measures us and what people use today at the same work, on the same tree, in turn, in one run:
//   npm run bench -- [--size small|full|million|large] [--rounds N] [--only WORK,…] [--ours] [--at DIR] [--json]
// Prints medians, ratios and peak memory. Ends with 1 where a contender is not installed; never because something is slow.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isInstalled, measure, median } from './measure.js';
import { smallRows } from './small.js';
import { SIZES, buildTree } from './tree.js';
import { OURS, WORKS, freshStores, places, storeBytes } from './works.js';

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: 'full' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
    at: { type: 'string' },
    ours: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const size = SIZES[values.size];
if (size === undefined) throw new Error(`--size is one of ${Object.keys(SIZES).join(', ')}`);
const only = values.only?.split(',');
const known = [...WORKS.map((work) => work.id), 'small'];
const unknown = only?.find((id) => !known.includes(id));
if (unknown !== undefined) throw new Error(`--only names no work '${unknown}'; known: ${known.join(', ')}`);
const say = (line) => process.stderr.write(`${line}\n`);

/** What a contender needs beside a shell. */
const NEEDS = {
  restic: ['restic'],
  borg: ['borg'],
  'tar, zstd, age': ['tar', 'zstd', 'age', 'age-keygen'],
  'sha256sum -c': ['sha256sum'],
};
const missing = new Set(
  Object.values(NEEDS)
    .flat()
    .concat(['sqlite3', '/usr/bin/time', 'age'])
    .filter((one) => !isInstalled(one)),
);
const takesPart = (name) => (!values.ours || name === OURS) && (NEEDS[name] ?? []).every((one) => !missing.has(one));
const contenders = ['restic', 'borg', 'age'].filter((one) => !missing.has(one) && !values.ours);

const directory = mkdtempSync(join(values.at ?? tmpdir(), 'perdure-bench-'));
const place = places(directory);
/** id → contender → list of {seconds, memory}. */
const figures = new Map(WORKS.map((work) => [work.id, new Map()]));
/** id → contender → list of bytes that the store grew by. */
const stored = new Map(WORKS.map((work) => [work.id, new Map()]));
const note = (map, name, figure) => map.set(name, [...(map.get(name) ?? []), figure]);

/** Runs one work: everybody once, in an order that turns from round to round. */
async function run(work, tree, round) {
  await work.before?.(tree, place);
  const names = Object.keys(work.lines).filter(takesPart);
  if (round % 2 === 1) names.reverse();
  const before = work.stored === undefined ? {} : storeBytes(place);
  for (const name of names) {
    work.between?.(place);
    measure('sync', { cwd: directory, env: place.env });
    const taken = measure(work.lines[name], { cwd: directory, env: place.env, statuses: name === OURS ? [0, 3] : [0] });
    note(figures.get(work.id), name, taken);
    say(
      `round ${round + 1}  ${work.name.padEnd(30)} ${name.padEnd(18)} ${taken.seconds.toFixed(2)} s  ${(taken.memory ?? 0).toFixed(0)} MiB`,
    );
  }
  if (work.stored === undefined) return;
  const after = storeBytes(place);
  for (const name of Object.keys(after)) note(stored.get(work.id), name, after[name] - (before[name] ?? 0));
}

function rowsOf(work) {
  const taken = figures.get(work.id);
  const middle = (name) => (taken.has(name) ? median(taken.get(name).map((one) => one.seconds)) : null);
  const rows = Object.keys(work.lines).map((name) => ({
    work: work.name,
    contender: name,
    seconds: middle(name),
    memory: taken.has(name) ? Math.max(...taken.get(name).map((one) => one.memory ?? 0)) : null,
    ratio: name === OURS || middle(name) === null ? null : middle(OURS) / middle(name),
    target: work.targets[name] ?? null,
  }));
  const bytes = stored.get(work.id);
  if (!bytes.has(OURS)) return rows;
  return rows.concat(
    [...bytes].map(([name, list]) => ({
      work: `${work.name}: stored`,
      contender: name,
      bytes: median(list),
      ratio: name.startsWith(OURS) ? null : median(bytes.get(OURS)) / median(list),
      target: work.stored[name] ?? null,
    })),
  );
}

function lineOf({ work, contender, seconds, bytes, memory, ratio, target }) {
  const figure = bytes !== undefined ? `${(bytes / 1e6).toFixed(1)} MB` : seconds === null ? 'not measured' : `${seconds.toFixed(2)} s`;
  const peak = memory === undefined || memory === null ? '' : `${memory.toFixed(0)} MiB`;
  const against = ratio === null ? '' : ratio.toFixed(2);
  const wanted = target === null ? '' : `${target.toFixed(2)}${ratio === null ? '' : ratio <= target ? ' ok' : ' MISSED'}`;
  return `| ${work.padEnd(36)} | ${contender.padEnd(16)} | ${figure.padStart(12)} | ${peak.padStart(8)} | ${against.padStart(6)} | ${wanted.padEnd(11)} |`;
}

try {
  mkdirSync(place.root);
  const small = only === undefined || only.includes('small') ? smallRows(directory, { runs: values.size === 'small' ? 3 : 30 }) : null;
  const wanted = WORKS.filter((work) => only === undefined || only.includes(work.id));
  if (wanted.length > 0) await measureAll(wanted);
  report(wanted.flatMap(rowsOf), small);
  process.exitCode = missing.size > 0 ? 1 : 0;
} finally {
  rmSync(directory, { recursive: true, force: true });
}

async function measureAll(wanted) {
  say(`building the tree '${values.size}' …`);
  const tree = await buildTree(place.root, size, {
    sources: [new URL('../node_modules', import.meta.url).pathname, '/usr/share/doc', '/usr/share/perl', '/usr/lib/python3'],
  });
  // Works change the tree and the stores for those after them, so that all up to the last one wanted are run.
  const until = WORKS.indexOf(wanted.at(-1));
  for (let round = 0; round < Number(values.rounds); round++) {
    freshStores(place, contenders);
    for (const work of WORKS.slice(0, until + 1)) await run(work, tree, round);
  }
}

function report(rows, small) {
  if (values.json) {
    console.log(
      JSON.stringify(
        { size: values.size, rounds: Number(values.rounds), node: process.version, rows, small, missing: [...missing] },
        null,
        2,
      ),
    );
    return;
  }
  if (rows.length > 0) {
    console.log('| work                                 | contender        |       median |     peak | ours/… | target      |');
    console.log('| ------------------------------------ | ---------------- | ------------ | -------- | ------ | ----------- |');
    for (const row of rows) console.log(lineOf(row));
  }
  if (small !== null) {
    console.log('\n| small command (least of many runs) | milliseconds | over bare node | target |');
    console.log('| ---------------------------------- | ------------ | -------------- | ------ |');
    for (const { name, ms, over, target } of small.rows)
      console.log(
        `| ${name.padEnd(34)} | ${ms.toFixed(0).padStart(12)} | ${over.toFixed(0).padStart(14)} | ${String(target).padStart(3)} ${over <= target ? 'ok' : 'MISSED'} |`,
      );
    const { short, long, ratio, target } = small.ledger;
    console.log(
      `\nstatus with a ledger of 10,000 records: ${long.toFixed(0)} ms, of 10: ${short.toFixed(0)} ms, ratio ${ratio.toFixed(2)} (target ${target}${ratio <= target ? ' ok' : ' MISSED'})`,
    );
  }
  if (missing.size > 0) console.log(`\nnot measured, because it is not installed: ${[...missing].join(', ')}`);
}
