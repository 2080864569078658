import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A real program, and how it is run in a home. */
export interface ProgramRun {
  readonly home: string;
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Standard input stays open until this stands in the output. */
  readonly until?: string;
  /** A file in which strace lists what the program and its children do with paths. */
  readonly trace?: string;
}

/** How a program ended. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const LIMIT = 180_000;

/** Runs a program with nothing of this environment but PATH; after three minutes it and its group are ended. */
export async function runProgram(
  argv: readonly string[],
  { home, cwd, env = {}, input = '', until = '', trace }: ProgramRun,
): Promise<Ended> {
  mkdirSync(cwd, { recursive: true });
  const traced = trace === undefined ? argv : ['strace', '-f', '-qq', '-e', 'trace=%file', '-o', trace, ...argv];
  const [command = '', ...rest] = traced;
  const path = [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  const child = spawn(command, rest, { cwd, env: { PATH: path, HOME: home, ...env }, detached: true, stdio: 'pipe' });
  const limit = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, LIMIT);
  child.stdin.on('error', () => undefined).write(input);
  const close = (): void => {
    child.stdin.end();
  };
  try {
    const [stdout, stderr, status] = await Promise.all([
      textOf(child.stdout, { until, close }),
      textOf(child.stderr),
      new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve)),
    ]);
    return { status, stdout, stderr };
  } finally {
    clearTimeout(limit);
  }
}

/** The JSON documents of an output, one a line; other lines are left out. */
export function jsonLines(text: string): readonly unknown[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as unknown);
}

/** The calls of a trace that name a place. */
export function callsNaming(place: string, trace: string): readonly string[] {
  return readFileSync(trace, 'utf8')
    .split('\n')
    .filter((line) => line.includes(`"${place}`));
}

/** A model server for real programs. */
export interface Model {
  readonly url: string;
  /** The body of the last request of a path that ends so. */
  readonly lastRequest: (end: string) => string;
  readonly stop: () => void;
}

/** Starts a model server, which ends with the standard input that it is given and writes what it is asked into a file. */
export async function startModel(log: string): Promise<Model> {
  const script = fileURLToPath(new URL('model-server.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, log], { stdio: ['pipe', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    child.on('error', reject).on('exit', () => {
      reject(new Error('the model server ended'));
    });
    child.stdout.once('data', (data: Buffer) => {
      resolve(data.toString().trim());
    });
  });
  const lastRequest = (end: string): string =>
    (jsonLines(readFileSync(log, 'utf8')) as readonly { path: string; body: string }[]).findLast(({ path }) => path.endsWith(end))?.body ??
    '';
  return { url, lastRequest, stop: () => child.stdin.end() };
}

async function textOf(
  stream: NodeJS.ReadableStream,
  { until = '', close = () => undefined }: { readonly until?: string; readonly close?: () => void } = {},
): Promise<string> {
  let text = '';
  if (until === '') close();
  for await (const part of stream.setEncoding('utf8')) {
    text += String(part);
    if (until !== '' && text.includes(until)) close();
  }
  return text;
}
