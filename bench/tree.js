// Builds the tree that is measured: small text files, logs that grow, and databases, cut from prose and code that this
// machine has, so that compression and deduplication meet what an agent's directory holds. The same seed gives the same tree.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync, openSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const MIB = 1024 * 1024;

/** Trees by name: small files, logs and their sizes in MiB, databases and their size in MiB. */
export const SIZES = {
  small: { files: 2000, logs: 12, log: [0.05, 0.06], databases: 2, database: 1 },
  full: { files: 50_000, logs: 12, log: [24, 30], databases: 2, database: 200 },
  million: { files: 1_000_000, logs: 0, log: [0, 0], databases: 0, database: 0 },
  large: { files: 50_000, logs: 96, log: [190, 210], databases: 2, database: 200 },
};

const TEXT =
  /\.(js|cjs|mjs|ts|md|txt|html|json|css|yml|yaml|py|pl|pm|c|h|go|rs|sh|changelog)$|^(README|LICENSE|NEWS|copyright|changelog|AUTHORS)/i;

/** Numbers from 0 to 1 that a seed determines (mulberry32). */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** All prose and code below some directories, each content once, up to `limit` bytes. */
function gather(directories, limit) {
  const parts = [];
  const seen = new Set();
  let size = 0;
  const visit = (directory) => {
    let entries;
    try {
      entries = readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch {
      return;
    }
    for (const entry of entries) {
      if (size >= limit) return;
      const path = join(directory, entry.name);
      if (entry.isDirectory()) visit(path);
      if (!entry.isFile() || !(TEXT.test(entry.name) || entry.name.endsWith('.gz'))) continue;
      if (statSync(path).size > 4 * MIB) continue;
      let bytes = readFileSync(path);
      if (entry.name.endsWith('.gz')) bytes = gunzipSync(bytes);
      const digest = createHash('sha256').update(bytes).digest('base64');
      if (seen.has(digest) || bytes.includes(0)) continue;
      seen.add(digest);
      parts.push(bytes);
      size += bytes.length;
    }
  };
  directories.forEach(visit);
  return Buffer.concat(parts);
}

/** Text of the pool: `next` never gives the same bytes twice until all were given; `excerpt` is from anywhere. */
class Pool {
  #bytes;
  #at = 0;
  #round = 0;
  #random;

  constructor(bytes, random) {
    this.#bytes = bytes;
    this.#random = random;
  }

  next(size) {
    if (this.#at + size > this.#bytes.length) this.#at = ++this.#round * 131;
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }

  excerpt(size) {
    const at = Math.floor(this.#random() * (this.#bytes.length - size));
    return this.#bytes.toString('latin1', at, at + size).replace(/[\0-\x08\x0b-\x1f\x7f-\xff]/g, ' ');
  }
}

const ROLES = ['user', 'assistant', 'tool'];

/** One line of a log of messages. */
function message(pool, random, number) {
  const size = 200 + Math.floor(random() * 1800);
  return `${JSON.stringify({
    id: createHash('md5').update(`${number}`).digest('hex'),
    timestamp: new Date(1.75e12 + number * 1713).toISOString(),
    role: ROLES[number % 3],
    content: pool.excerpt(size),
    usage: { input: Math.floor(random() * 9000), output: size },
  })}\n`;
}

async function sqlite(path, statements) {
  const child = spawn('sqlite3', ['-bail', path], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(child, 'close');
  for (const statement of statements) if (!child.stdin.write(statement)) await once(child.stdin, 'drain');
  child.stdin.end();
  const [status] = await ended;
  if (status !== 0) throw new Error(`sqlite3 ended with ${status}`);
}

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

function* rows(pool, random, from, count) {
  yield 'BEGIN;\n';
  for (let number = from; number < from + count; number++)
    yield `INSERT INTO messages VALUES(NULL,${quoted(createHash('md5').update(`row ${number}`).digest('hex'))},'s${Math.floor(random() * 400)}',${1.75e12 + number * 977},'${ROLES[number % 3]}',${quoted(pool.excerpt(200 + Math.floor(random() * 1800)))});\n`;
  yield 'COMMIT;\n';
}

/** Builds a tree at `root`, and returns what makes it change. */
export async function buildTree(root, size, { sources }) {
  const random = randomFrom(20_261_130);
  const bytes = gather(sources, size.files <= 2000 ? 24 * MIB : 400 * MIB);
  if (bytes.length < 8 * MIB) throw new Error('too little text is found on this machine');
  const pool = new Pool(bytes, random);
  const area = (number) => join(root, ['private/memory', 'body/src', 'artifacts/notes'][number % 3], `d${Math.floor(number / 150)}`);
  mkdirSync(join(root, 'private/state'), { recursive: true });
  writeFileSync(join(root, 'private/self.json'), '{"version":1,"name":"bench"}\n');
  let last = '';
  for (let number = 0; number < size.files; number++) {
    const directory = area(number);
    if (directory !== last) mkdirSync(directory, { recursive: true });
    last = directory;
    const gauss = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const length = Math.min(512 * 1024, Math.max(40, Math.round(2048 * Math.exp(1.15 * gauss))));
    writeFileSync(join(directory, `note-${number}.${['md', 'ts', 'txt'][number % 3]}`), pool.next(length));
  }
  const logs = [];
  let number = 0;
  for (let log = 0; log < size.logs; log++) {
    const path = join(root, 'artifacts', `session-${log}.jsonl`);
    logs.push(path);
    const wanted = (size.log[0] + random() * (size.log[1] - size.log[0])) * MIB;
    mkdirSync(join(root, 'artifacts'), { recursive: true });
    const fd = openSync(path, 'w');
    for (let written = 0; written < wanted;) {
      let text = '';
      while (text.length < MIB && written + text.length < wanted) text += message(pool, random, number++);
      writeSync(fd, text);
      written += text.length;
    }
    closeSync(fd);
  }
  const databases = [];
  for (let database = 0; database < size.databases; database++) {
    const path = join(root, 'private/state', `memory-${database}.db`);
    databases.push(path);
    await sqlite(path, [
      'PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;\nCREATE TABLE messages(id INTEGER PRIMARY KEY, uuid TEXT UNIQUE, session TEXT, at INTEGER, role TEXT, content TEXT);\nCREATE INDEX by_session ON messages(session, at);\n',
    ]);
    const count = Math.round((size.database * MIB) / 1290);
    await sqlite(path, rows(pool, random, database * 10_000_000, count));
  }
  return new Changes({ root, size, pool, random, logs, databases, area });
}

/** What happens to the tree between two measurements. */
class Changes {
  #tree;
  #round = 0;

  constructor(tree) {
    this.#tree = tree;
  }

  /** One small file is written anew. */
  one() {
    const { area, pool } = this.#tree;
    const number = 300 * ++this.#round;
    writeFileSync(join(area(number), `note-${number}.md`), pool.next(2048));
  }

  /** 1 KB is appended to each log, 100 rows of each database are updated and 1,000 inserted. */
  async some() {
    const { logs, databases, pool, random, size } = this.#tree;
    this.#round++;
    for (const log of logs)
      appendFileSync(
        log,
        message(pool, random, 5_000_000 + this.#round)
          .padEnd(1024)
          .slice(0, 1024),
      );
    const count = Math.round((size.database * MIB) / 1290);
    for (const [at, database] of databases.entries()) {
      const updates = [];
      for (let row = 0; row < 100; row++)
        updates.push(`UPDATE messages SET content=${quoted(pool.excerpt(900))} WHERE id=${1 + Math.floor(random() * count)};\n`);
      await sqlite(database, [
        'BEGIN;\n',
        ...updates,
        'COMMIT;\n',
        ...rows(pool, random, at * 10_000_000 + 5_000_000 + this.#round * 1000, 1000),
      ]);
    }
  }
}
