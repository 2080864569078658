import { dirname } from 'node:path';
import { AgentError, isAgentError, systemCode } from './errors.ts';
import { word } from './shell.ts';

/** Whether a system error says that there is no such file. */
export function isAbsent(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Turns a system error about a path into one that a person can act on; other errors pass through. */
export function explain(error: unknown, path: string): unknown {
  const code = systemCode(error) ?? '';
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new AgentError('SPACE_SHORT', `no space is left to write '${path}'`, {
      cause: error,
      hints: [{ command: `df -h ${word(dirname(path))}`, effect: 'nothing was changed; the same command goes on after room is made' }],
    });
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return new AgentError('FILE_UNWRITABLE', `'${path}' may not be read or written here: ${code}`, {
      cause: error,
      hints: [{ command: `ls -ld ${word(path)} ${word(dirname(path))}`, effect: 'nothing was changed' }],
    });
  if (!/^E(?!RR_)[A-Z0-9]+$/.test(code) || isAgentError(error)) return error;
  return new AgentError('FILE_UNREADABLE', `'${path.length > 300 ? `…${path.slice(-300)}` : path}' cannot be used: ${code}`, {
    cause: error,
    hints: [{ command: `ls -ld ${word(dirname(path).slice(0, 300))}`, effect: 'shows what is there; nothing was changed' }],
  });
}
