import { basename } from 'node:path';
import { word } from '../core/shell.ts';
import type { Terminal } from './terminal.ts';

/** Commands whose next steps are not about the agent of -C, or name its directory by themselves. */
const ELSEWHERE = /^(init|invite|rehydrate|recover|help|completion|--help|keys check \S|-C)/;

/** The name by which the program was called. */
export function calledName({ program }: Pick<Terminal, 'program'>): 'agent' | 'perdure' {
  return basename(program) === 'perdure' ? 'perdure' : 'agent';
}

/**
 * Makes the next steps in a text such that they can be typed as they stand: by the name that was called, and with the
 * directory of -C where one was given.
 */
export function asTyped(
  text: string,
  { name, directory }: { readonly name: 'agent' | 'perdure'; readonly directory: string | undefined },
): string {
  return text.replace(/^(next: (?:[^#\n]*(?:&&|;|\|) )?)agent ([^\n]*)/gm, (_, before: string, rest: string) => {
    const where =
      directory === undefined || ELSEWHERE.test(rest) || / {3}# .*\bon the (source|target)\b/.test(rest) ? '' : `-C ${word(directory)} `;
    return `${before}${name} ${where}${rest}`;
  });
}
