import { AgentError, isAgentError, type ErrorCode, type Hint } from '../errors.ts';

/** An error as it crosses to another thread: what a person is told, or what the system said. */
export type CrossingError =
  | { readonly code: ErrorCode; readonly message: string; readonly hints: readonly Hint[] }
  | { readonly message: string; readonly system: Partial<Pick<NodeJS.ErrnoException, 'code' | 'syscall' | 'errno' | 'path'>> };

/** Takes an error apart, so that it can cross to another thread. */
export function describeError(error: unknown): CrossingError {
  const message = error instanceof Error ? error.message : String(error);
  if (isAgentError(error)) return { code: error.code, message, hints: error.hints };
  const { code, syscall, errno, path } = error as NodeJS.ErrnoException;
  const told = Object.entries({ code, syscall, errno, path }).filter(([, value]) => value !== undefined);
  return { message, system: Object.fromEntries(told) };
}

/** Puts it together again. */
export function errorOf(error: CrossingError): Error {
  return 'code' in error
    ? new AgentError(error.code, error.message, { hints: error.hints })
    : Object.assign(new Error(error.message), error.system);
}
