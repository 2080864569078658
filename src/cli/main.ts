import { resolve } from 'node:path';
import { AgentError, STATUS, isAgentError, statusOf, type Hint } from '../core/errors.ts';
import { showName } from '../core/name.ts';
import { explain } from '../core/system-error.ts';
import { parseArguments, type Answer, type CommandClass, type CommandTable, type Program } from './command.ts';
import { commandHelp, groupHelp, programHelp } from './help.ts';
import { realPorts } from './ports.ts';
import { asTyped, calledName } from './called.ts';
import { styleFor } from './style.ts';
import type { Terminal } from './terminal.ts';
import { nextLines } from './text.ts';

/** A message is cut after so many characters: what a person gave may be very long. */
const LONGEST = 1000;

interface Call {
  /** Empty where only help or version is asked for. */
  readonly name: string;
  readonly directory: string | undefined;
  readonly argv: readonly string[];
  readonly rest: readonly string[];
  readonly help: boolean;
  /** The page of a status or an error code that is asked for. */
  readonly topic?: string;
  /** The first word of commands of two words, whose list is asked for. */
  readonly group?: string;
  readonly json: boolean;
}

/** Runs the program once and returns its exit status; prints all that is to be printed. */
export async function main(
  program: Program,
  argv: readonly string[],
  { terminal, worker }: { readonly terminal: Terminal; readonly worker: URL },
): Promise<number> {
  let call: Call = { name: '', directory: undefined, argv: [], rest: [], help: false, json: argv.includes('--json') };
  try {
    call = readCall(program, argv);
    if (call.name === 'version') return await print(terminal, `perdure ${program.version}\n`);
    if (call.group !== undefined) return await print(terminal, groupHelp(program, call.group));
    if (call.topic !== undefined) return await print(terminal, await topicText(call.topic, program.commands));
    if (call.name === '') return await print(terminal, programHelp(program), call.help ? STATUS.done : STATUS.usage);
    const type = await loadCommand(program, call.name);
    if (call.help) return await print(terminal, commandHelp(type));
    const input = await parseArguments(type, call.argv).catch((error: unknown) => {
      throw usage(error, call.name);
    });
    const command = new type();
    // As if it had been started in the directory of -C.
    const there = call.directory === undefined ? terminal : { ...terminal, cwd: resolve(terminal.cwd, call.directory) };
    const exactRoot = call.directory === undefined ? terminal.env['PERDURE_ROOT'] : undefined;
    const ports = realPorts(there, { exactRoot, worker });
    const answer = await command.answer(input, { program, ports, terminal: there, rest: call.rest });
    return await present(terminal, call, answer);
  } catch (error) {
    return reportError(terminal, call, error);
  }
}

/** Reads what stands before and around the command: -C, --help, --version, --, and names of two words. */
function readCall({ commands }: Program, argv: readonly string[]): Call {
  const split = argv.indexOf('--');
  const own = split < 0 ? [...argv] : argv.slice(0, split);
  const rest = split < 0 ? [] : argv.slice(split + 1);
  let directory: string | undefined;
  let at = 0;
  for (; own[at]?.startsWith('-') === true && own[at] !== '-'; at++) {
    if (own[at] === '-C') {
      directory = own[++at];
      if (directory === undefined) throw new AgentError('USAGE_WRONG', '-C needs a directory');
    } else if (own[at] === '--version') return { name: 'version', directory, argv: [], rest, help: false, json: false };
    else if (own[at] === '--help' || own[at] === '-h') return { name: '', directory, argv: [], rest, help: true, json: false };
    else if (own[at] !== '--json')
      throw new AgentError('USAGE_WRONG', `unknown option '${own[at] ?? ''}' before the command`, { hints: [{ command: 'agent --help' }] });
  }
  const json = own.includes('--json');
  let words = own.slice(at);
  const asked = words[0] === 'help';
  if (asked) words = words.slice(1);
  const [first, second] = words;
  if (first === undefined) return { name: '', directory, argv: [], rest, help: asked, json };
  const topic = first;
  if (asked && !(first in commands) && !Object.keys(commands).some((one) => one.startsWith(`${first} `)))
    return { name: '', directory, argv: [], rest, help: true, topic, json };
  const double = `${first} ${second ?? ''}`;
  const name = double in commands ? double : first;
  const within = Object.keys(commands).filter((one) => one.startsWith(`${first} `));
  if (!(name in commands) && within.length > 0 && (asked || second === undefined || second === '--help' || second === '-h'))
    return { name: '', directory, argv: [], rest, help: true, group: first, json };
  if (!(name in commands)) throw unknownCommand(name, commands);
  const args = words.slice(name.split(' ').length);
  const help = asked || args.includes('--help') || args.includes('-h');
  return { name, directory, argv: json && !args.includes('--json') ? [...args, '--json'] : args, rest, help, json };
}

/** The page of a status or an error code, loaded when it is asked for. */
async function topicText(name: string, commands: CommandTable): Promise<string> {
  const page = (await import('./topics.ts')).topicPage(name);
  if (page === null) throw unknownCommand(name, commands);
  return page;
}

function unknownCommand(name: string, commands: CommandTable): AgentError {
  const near = Object.keys(commands).filter((one) => one.startsWith(name.slice(0, 2)) || one.startsWith(`${name} `));
  return new AgentError('USAGE_WRONG', `'${name}' is no command`, {
    hints: [...near.map((one): Hint => ({ command: `agent ${one}` })), { command: 'agent --help', effect: 'lists the commands' }],
  });
}

async function loadCommand({ commands }: Program, name: string): Promise<CommandClass> {
  const entry = commands[name];
  if (entry === undefined) throw new AgentError('INTERNAL', `no command '${name}'`);
  return entry.load();
}

async function present(terminal: Terminal, { name, json, directory }: Call, answer: Answer): Promise<number> {
  const typed = { name: calledName(terminal), directory };
  const { status = STATUS.done, data, text, notes = [], document } = answer;
  for (const note of notes) terminal.note(asTyped(showText(note), typed));
  if (document !== undefined) return print(terminal, document, status);
  if (json) return print(terminal, `${JSON.stringify({ ok: true, command: name, data }, plain)}\n`, status);
  return print(terminal, asTyped(showText(text ?? ''), typed), status);
}

async function print(terminal: Terminal, text: string, status: number = STATUS.done): Promise<number> {
  if (text !== '') await terminal.write(text);
  return status;
}

async function reportError(terminal: Terminal, { name, json, directory }: Call, error: unknown): Promise<number> {
  const explained = explain(error, pathOf(error));
  const known = isAgentError(explained)
    ? explained
    : new AgentError('INTERNAL', `unexpected: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
        hints: [{ command: `PERDURE_DEBUG=1 agent ${name}`, effect: 'with the same arguments shows where; please report it' }],
      });
  const { code } = known;
  const message = known.message.length > LONGEST ? `${known.message.slice(0, LONGEST)}…` : known.message;
  const hints =
    known.hints.length > 0 ? known.hints : [{ command: `agent help ${code}`, effect: 'tells what it means and what can be done' }];
  const called = calledName(terminal);
  if (json)
    await terminal.write(`${JSON.stringify({ ok: false, command: name, error: { code, message, hints } })}\n`).catch(() => undefined);
  const style = await styleFor(terminal);
  terminal.note(`${called}: ${style.code(code)}: ${showName(message)}`);
  for (const line of nextLines(hints)) terminal.note(style.next(asTyped(showName(line), { name: called, directory })));
  if (terminal.env['PERDURE_DEBUG'] !== undefined && error instanceof Error) terminal.note(stackOf(error));
  return statusOf(code);
}

function stackOf(error: Error): string {
  return error.cause instanceof Error ? `${error.stack ?? ''}\ncaused by ${stackOf(error.cause)}` : (error.stack ?? '');
}

/** The parser's errors are the user's; its long texts are cut to their first line. */
function usage(error: unknown, name: string): unknown {
  if (isAgentError(error) || !(error instanceof Error)) return error;
  const [line = ''] = error.message
    .split('\n')
    .filter((one) => one.trim() !== '' && !/^(The following error|Parsing --|See more help)/.test(one));
  return new AgentError(
    'USAGE_WRONG',
    line.replace(/^\s+/, '').replace(/^(\w)/, (letter) => letter.toLowerCase()),
    { hints: [{ command: `agent ${name} --help` }], cause: error },
  );
}

function plain(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Map ? Object.fromEntries(value) : value;
}

/** A text for a terminal: what came from files, bundles and messages may not move it. */
function showText(text: string): string {
  return text.split('\n').map(showName).join('\n');
}

function pathOf(error: unknown): string {
  return error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : 'a file';
}
