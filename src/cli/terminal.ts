import { createInterface } from 'node:readline/promises';
import * as nodeFs from 'node:fs';
import { resolve } from 'node:path';
import { AgentError, systemCode } from '../core/errors.ts';
import { createFiles } from '../core/files.ts';
import { word } from '../core/shell.ts';

/** The streams and the environment; the only part of the program, with the ports, that touches `process`. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file that was started. */
  readonly program: string;
  /** Whether a person can be asked. */
  readonly interactive: boolean;
  readonly outIsTerminal: boolean;
  readonly errIsTerminal: boolean;
  readonly input: AsyncIterable<Uint8Array>;
  write(bytes: Uint8Array | string): Promise<void>;
  note(text: string): void;
  ask(question: string): Promise<string>;
  /** Calls `end` for signals that ask the program to end; returns how to stop that. */
  onSignal(end: (signal: NodeJS.Signals) => void): () => void;
}

const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** Keeps back Node's word that its SQLite is experimental, which tells a user nothing to do; other warnings are printed as ever. */
function keepBackSqliteWarning(): void {
  const printers = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning' && warning.message.includes('SQLite')) return;
    for (const print of printers) print(warning);
  });
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process;
  // Failures are told to whoever writes; as events they would end the program without a word.
  stdout.on('error', () => undefined);
  stderr.on('error', () => undefined);
  keepBackSqliteWarning();
  return {
    env: process.env,
    cwd: process.cwd(),
    program: process.argv[1] ?? '',
    interactive: stdin.isTTY && stderr.isTTY,
    outIsTerminal: stdout.isTTY,
    errIsTerminal: stderr.isTTY,
    input: stdin,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        stdout.write(bytes, (error) => {
          if (error == null) resolve();
          else
            reject(
              new AgentError(
                'FILE_UNWRITABLE',
                systemCode(error) === 'EPIPE' ? 'whoever reads standard output has gone' : 'standard output cannot be written',
                { cause: error },
              ),
            );
        });
      }),
    note: (text) => {
      stderr.write(`${text}\n`);
    },
    async ask(question) {
      const lines = createInterface({ input: stdin, output: stderr });
      try {
        return await lines.question(question);
      } catch (error) {
        throw new AgentError('INTERRUPTED', 'the question was not answered', { cause: error });
      } finally {
        lines.close();
      }
    },
    onSignal(end) {
      for (const signal of ENDING) process.on(signal, end);
      return () => {
        for (const signal of ENDING) process.off(signal, end);
      };
    },
  };
}

/** Reads a small document: a file, or `-` for standard input. */
export async function readDocument(terminal: Terminal, path: string): Promise<Buffer> {
  if (path === '-') {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of terminal.input) {
      parts.push(part);
      size += part.length;
      if (size > DOCUMENT_LIMIT) throw new AgentError('MESSAGE_DAMAGED', 'standard input is no invite and no reply: it is too long');
    }
    return Buffer.concat(parts);
  }
  const bytes = await createFiles(nodeFs).readIfPresent(path);
  if (bytes !== null) return bytes;
  throw new AgentError('FILE_MISSING', `'${path}' does not exist`, {
    hints: [{ command: `ls -ld ${word(path)}`, effect: 'relative paths are taken from the current directory, or from that of -C' }],
  });
}

const DOCUMENT_LIMIT = 4 * 1024 * 1024;

/** Reads a passphrase: the first line of a file, or of `-` for standard input. Never from an argument or the environment. */
export async function readPassphrase(terminal: Terminal, path: string): Promise<string> {
  return (await readDocument(terminal, path === '-' ? path : resolve(terminal.cwd, path))).toString('utf8').split('\n')[0] ?? '';
}
