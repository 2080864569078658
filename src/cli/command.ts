import type * as OclifParser from '@oclif/core/parser';
import type { Ports } from '../actions/session/ports.ts';
import type { Terminal } from './terminal.ts';

/** What the declaration of an argument or flag may say; the shapes are those that oclif's parser reads. */
interface Declaration {
  readonly summary?: string;
  readonly char?: string;
  readonly helpValue?: string;
  readonly default?: string;
  readonly required?: boolean;
  readonly multiple?: boolean;
  readonly options?: readonly string[];
  readonly exclusive?: readonly string[];
  readonly min?: number;
}

const same = <T>(value: T): Promise<T> => Promise.resolve(value);

/**
 * Declares flags. oclif's own builders pull in its help, errors and spinners, which cost more than a whole light command;
 * its parser is loaded only where there is something to parse.
 */
export const Flags = {
  boolean: (declaration: Declaration): object => ({ parse: same, ...declaration, allowNo: false, type: 'boolean' }),
  string: (declaration: Declaration): object => ({ parse: same, input: [], multiple: false, ...declaration, type: 'option' }),
  integer: (declaration: Declaration): object => ({
    input: [],
    multiple: false,
    ...declaration,
    parse: (text: string) => wholeNumber(text, declaration.min ?? 0),
    type: 'option',
  }),
};

/** Declares arguments. */
export const Args = {
  // Without it the parser takes an argument that is not there from standard input.
  string: (declaration: Declaration = {}): object => ({ parse: same, input: [], ignoreStdin: true, ...declaration, type: 'option' }),
};

function wholeNumber(text: string, least: number): Promise<number> {
  const number = Number(text);
  if (/^[0-9]+$/.test(text) && number >= least && Number.isSafeInteger(number)) return Promise.resolve(number);
  return Promise.reject(new Error(`'${text}' is no whole number from ${String(least)} on`));
}

/** What a command answers: data for --json, text for people, or a document that is the answer itself. */
export interface Answer {
  /** Exit status; 0 unless given. */
  readonly status?: number;
  /** For `--json`; bigints become decimals. */
  readonly data?: unknown;
  /** Standard output for people. */
  readonly text?: string;
  /** Standard error: notes and next steps. */
  readonly notes?: readonly string[];
  /** Standard output with and without `--json`: a message, a reply. */
  readonly document?: string;
}

/** Loads the class of a command. */
export type CommandTable = Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<CommandClass> }>>;

/** What the program consists of. */
export interface Program {
  readonly version: string;
  readonly commands: CommandTable;
  /** Commands under titles, for the help. */
  readonly groups: readonly (readonly [string, readonly string[]])[];
}

/** What a command gets. */
export interface Context {
  readonly program: Program;
  readonly ports: Ports;
  readonly terminal: Terminal;
  /** What follows `--`. */
  readonly rest: readonly string[];
}

/** A command of the program: it declares its arguments, calls one action, and says what came out. */
export abstract class AgentCommand {
  static summary = '';
  static usage = '';
  static description: string | undefined = undefined;
  static examples: readonly string[] = [];
  static args: Readonly<Record<string, unknown>> = {};
  static flags: Readonly<Record<string, unknown>> = {};
  /** False where more arguments than `args` names may come. */
  static strict = true;
  /** Exit statuses that its help lists, beside 0, 1, 2 and 70. */
  static statuses: readonly string[] = [];

  abstract answer(input: CommandInput, context: Context): Promise<Answer>;
}

/** Arguments as the parser read them. */
export interface CommandInput {
  readonly flags: Record<string, unknown>;
  readonly args: Record<string, unknown>;
  readonly argv: readonly string[];
}

/** A command's class, with what its help shows. */
export type CommandClass = (new () => AgentCommand) &
  Pick<typeof AgentCommand, 'flags' | 'args' | 'summary' | 'description' | 'examples' | 'strict' | 'statuses' | 'usage'>;

const JSON_FLAG = { json: Flags.boolean({ summary: 'one JSON document on stdout, on failure too' }) };

/** The flags of a command, with those that every command has. */
export function flagsOf(type: CommandClass): Readonly<Record<string, unknown>> {
  return { ...JSON_FLAG, ...type.flags };
}

/** Parses arguments as the class declares them; throws the parser's errors, which are the user's. */
export async function parseArguments(type: CommandClass, argv: readonly string[]): Promise<CommandInput> {
  const nothing = argv.length === 0 && Object.keys(type.args).length === 0 && !Object.values(type.flags).some(hasDefault);
  if (nothing) return { flags: {}, args: {}, argv: [] };
  const module = await import('@oclif/core/parser');
  // Inside a bundle only the default export is there.
  const Parser = 'parse' in module ? module : (module as { default: typeof OclifParser }).default;
  const {
    flags,
    args,
    argv: rest,
  } = await Parser.parse([...argv], { flags: flagsOf(type), args: type.args, strict: type.strict, context: {} } as never);
  return { flags, args, argv: rest as readonly string[] };
}

function hasDefault(flag: unknown): boolean {
  return typeof flag === 'object' && flag !== null && 'default' in flag;
}
