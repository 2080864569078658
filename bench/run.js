// Measures us and what people use today at the same work, on the same tree, in turn, in one run:
//   node bench/run.js [--size small|full|million|large] [--rounds N] [--only WORK,…] [--at DIR] [--json]
// Prints medians, ratios and peak memory. Ends with 1 where a contender is not installed; never because something is slow.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isInstalled, measure, median } from './measure.js';
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
const unknown = only?.find((id) => !WORKS.some((work) => work.id === id));
if (unknown !== undefined) throw new Error(`--only names no work '${unknown}'; known: ${WORKS.map((work) => work.id).join(', ')}`);
const say = (line) => process.stderr.write(`${line}\n`);

/** What a contender needs beside a shell. */
const NEEDS = {
  restic: ['restic'],
  borg: ['borg'],
  'tar | zstd | age': ['tar', 'zstd', 'age', 'age-keygen'],
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
    say(`round ${round + 1}  ${work.name.padEnd(30)} ${name.padEnd(18)} ${taken.seconds.toFixed(2)} s  ${(taken.memory ?? 0).toFixed(0)} MiB`);
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
      ratio: name === OURS ? null : median(bytes.get(OURS)) / median(list),
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
  say(`building the tree '${values.size}' …`);
  const tree = await buildTree(place.root, size, { sources: [new URL('../node_modules', import.meta.url).pathname, '/usr/share/doc', '/usr/share/perl', '/usr/lib/python3'] });
  // Works change the tree and the stores for those after them, so that all up to the last one wanted are run.
  const wanted = WORKS.filter((work) => only === undefined || only.includes(work.id));
  const until = WORKS.indexOf(wanted.at(-1));
  for (let round = 0; round < Number(values.rounds); round++) {
    freshStores(place, contenders);
    for (const work of WORKS.slice(0, until + 1)) await run(work, tree, round);
  }
  const rows = wanted.flatMap(rowsOf);
  if (values.json) console.log(JSON.stringify({ size: values.size, rounds: Number(values.rounds), node: process.version, rows, missing: [...missing] }, null, 2));
  else {
    console.log('| work                                 | contender        |       median |     peak | ours/… | target      |');
    console.log('| ------------------------------------ | ---------------- | ------------ | -------- | ------ | ----------- |');
    for (const row of rows) console.log(lineOf(row));
    if (missing.size > 0) console.log(`\nnot measured, because it is not installed: ${[...missing].join(', ')}`);
  }
  process.exitCode = missing.size > 0 ? 1 : 0;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
