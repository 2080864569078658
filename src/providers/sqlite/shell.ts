import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from './words.ts';

/** A database that is open for questions in SQL. */
interface PlainShell {
  /** Runs statements, each ended by `;` and a line break or the end, and gives the first columns of all rows as text; throws what SQLite said. */
  ask(statements: string): Promise<readonly string[]>;
  /** Copies the database by online backup to a file of this name in the shell's directory, without waiting for the disk. */
  backup(name: string): Promise<void>;
  end(): Promise<void>;
}

/** One whose schema was looked at before anything was asked. */
interface SqliteShell extends PlainShell {
  /** Opens another database beside it, under a name; it is made where it does not exist. */
  attach(path: string, name: string): Promise<void>;
}

/** Opens a database: `look` takes no lock and makes no file, which only one that nobody writes may have; `read` writes nothing to it. */
export type OpenShell = (database: {
  readonly path: string;
  readonly mode: 'look' | 'read' | 'write';
  /** Where copies go. */
  readonly cwd: string;
  /** Milliseconds to wait for a lock. */
  readonly limit: number;
}) => SqliteShell;

/** The `sqlite3` program, where PATH has it; else null. */
export async function programShell(): Promise<OpenShell | null> {
  const child = spawn('sqlite3', ['--version'], { stdio: 'ignore' });
  const found = await once(child, 'close').catch(() => null);
  return found === null ? null : (database) => new CarefulShell(new ProgramShell(database));
}

/** What each database is opened with: its checks and cascades are not to run. */
const CAREFUL = 'PRAGMA ignore_check_constraints=ON;\nPRAGMA foreign_keys=OFF;';

/** Functions by which a schema, which is another's, could do more than compute: the program has one that runs a command. */
const RISKY = [
  'edit',
  'eval',
  'exec',
  'fsdir',
  'fts3_tokenizer',
  'load_extension',
  'lsmode',
  'readfile',
  'shell_putsnl',
  'system',
  'usleep',
  'writefile',
  'zipfile',
];
/**
 * A call has the name in it as it is, whatever stands around it; a longer name of ASCII that holds it is another. Not so with other
 * characters: one of them is white space to SQLite.
 */
const NAMED = new RegExp(`(?<![A-Za-z0-9_$])(?:${RISKY.join('|')})(?![A-Za-z0-9_$])`, 'i');

/**
 * A shell that looks at the schema before anything else is asked, and distrusts one that names a risky function. Not every schema: an
 * older SQLite holds its own functions of JSON for unsafe, and what has them in a CHECK for malformed.
 */
class CarefulShell implements SqliteShell {
  readonly #shell: PlainShell;
  #settled: Promise<void> | null = null;

  constructor(shell: PlainShell) {
    this.#shell = shell;
  }

  async ask(statements: string): Promise<readonly string[]> {
    await (this.#settled ??= this.#settle());
    return this.#shell.ask(statements);
  }

  async backup(name: string): Promise<void> {
    await (this.#settled ??= this.#settle());
    await this.#shell.backup(name);
  }

  end(): Promise<void> {
    return this.#shell.end();
  }

  async attach(path: string, name: string): Promise<void> {
    await this.ask(`ATTACH ${text(path)} AS ${name};`);
    await this.#look(name);
  }

  async #settle(): Promise<void> {
    await this.#shell.ask(CAREFUL);
    await this.#look('main');
  }

  async #look(database: string): Promise<void> {
    const named = RISKY.map((one) => `sql LIKE '%${one}%'`).join(' OR ');
    const texts = await this.#shell.ask(`SELECT json_quote(sql) FROM ${database}.sqlite_schema WHERE ${named};`);
    if (texts.some((one) => NAMED.test(JSON.parse(one) as string))) await this.#shell.ask('PRAGMA trusted_schema=OFF;');
  }
}

/** A NUL would end a line for the program, and what follows it would be read as another command. */
function checked(statements: string): string {
  if (statements.includes('\0')) throw new Error('a statement holds a NUL');
  return statements;
}

/** With a name of this form SQLite neither locks the file nor looks for a log beside it, nor makes one. */
function immutable(path: string): string {
  return `file:${path.split('/').map(encodeURIComponent).join('/')}?immutable=1`;
}

type Database = Parameters<OpenShell>[0];

/** One running `sqlite3`, asked question by question; the first error ends it. */
class ProgramShell implements PlainShell {
  readonly #child;
  readonly #closed: Promise<unknown>;
  #output = '';
  #errors = '';
  /** Ends each answer; nothing that a database holds can know it. */
  readonly #mark = `--answered ${randomUUID()}--`;
  #onOutput: () => void = () => undefined;

  constructor({ path, mode, cwd, limit }: Database) {
    const target = mode === 'look' ? immutable(path) : path;
    const args = ['-init', '/dev/null', '-batch', '-bail', '-noheader', '-list', ...(mode === 'write' ? [] : ['-readonly']), target];
    this.#child = spawn('sqlite3', args, { cwd, stdio: 'pipe' });
    this.#closed = once(this.#child, 'close').catch(() => undefined);
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
      this.#onOutput();
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    // A process that ended at an error reads nothing more; what it said is the answer.
    this.#child.stdin.on('error', () => undefined);
    this.#child.stdin.write(`.timeout ${String(limit)}\n`);
  }

  async ask(statements: string): Promise<readonly string[]> {
    const mark = this.#mark;
    this.#child.stdin.write(`${checked(statements)}\n.print ${mark}\n`);
    const answered = new Promise<string>((resolve) => {
      this.#onOutput = () => {
        const at = this.#output.indexOf(`${mark}\n`);
        if (at !== -1) resolve(this.#output.slice(0, at));
      };
      this.#onOutput();
    });
    const text = await Promise.race([answered, this.#closed.then(() => null)]);
    if (text === null) throw new Error(this.#errors.trim() === '' ? 'sqlite3 ended' : this.#errors.trim());
    this.#output = this.#output.slice(text.length + mark.length + 1);
    return text === '' ? [] : text.replace(/\n$/, '').split('\n');
  }

  async backup(name: string): Promise<void> {
    await this.ask(`.backup --async main ${name}`);
  }

  async end(): Promise<void> {
    this.#child.stdin.end();
    await this.#closed;
  }
}

/** What is used of `node:sqlite`; the floor of Node has no such module, nor types for it. */
interface NodeSqlite {
  readonly DatabaseSync: new (path: string, options: { readonly readOnly: boolean; readonly timeout: number }) => NodeDatabase;
  readonly backup?: (database: NodeDatabase, path: string) => Promise<number>;
}

interface NodeDatabase {
  prepare(statement: string): { all(): readonly Readonly<Record<string, unknown>>[] };
  exec(statements: string): void;
  close(): void;
}

/** Node's own module, from the versions on that can back up; else null. */
export async function moduleShell(): Promise<OpenShell | null> {
  // A name that the compiler does not follow.
  const name: string = 'node:sqlite';
  const module = (await import(name).catch(() => null)) as NodeSqlite | null;
  const backup = module?.backup;
  return module === null || backup === undefined ? null : (database) => new CarefulShell(new ModuleShell(database, { ...module, backup }));
}

class ModuleShell implements PlainShell {
  readonly #module: Required<NodeSqlite>;
  readonly #given: Database;
  #database: NodeDatabase | null = null;

  constructor(given: Database, module: Required<NodeSqlite>) {
    this.#given = given;
    this.#module = module;
  }

  ask(statements: string): Promise<readonly string[]> {
    try {
      const answers: string[] = [];
      for (const statement of checked(statements)
        .split(/;(?:\n|$)/)
        .filter((one) => one.trim() !== ''))
        if (/^\s*(SELECT|PRAGMA)\b/i.test(statement))
          for (const row of this.#open().prepare(statement).all()) answers.push(textOf(Object.values(row)[0]));
        else this.#open().exec(statement);
      return Promise.resolve(answers);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async backup(name: string): Promise<void> {
    await this.#module.backup(this.#open(), join(this.#given.cwd, name));
  }

  end(): Promise<void> {
    this.#database?.close();
    this.#database = null;
    return Promise.resolve();
  }

  #open(): NodeDatabase {
    const { path, mode, limit } = this.#given;
    return (this.#database ??= new this.#module.DatabaseSync(mode === 'look' ? immutable(path) : path, {
      readOnly: mode !== 'write',
      timeout: limit,
    }));
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : '';
}
