import { statusOf, type ErrorCode, type STATUS } from '../core/errors.ts';
import { CODE_PAGES } from './code-pages.ts';
import { FINDING_PAGES } from './finding-pages.ts';

const STATUS_PAGES: Readonly<Record<(typeof STATUS)[keyof typeof STATUS], readonly [string, string]>> = {
  0: ['done', 'What was asked for is done, or was done before. Not being the holder is no failure of verify.'],
  1: ['failed', 'Something outside of the agent is in the way: a file, a directory, room on a disk, a program. Nothing was lost.'],
  2: ['usage', 'The command was not understood, or a person has to say something that only a person can know. Nothing was changed.'],
  3: [
    'done but incomplete',
    'It is done, and something is missing or not certain: an alarm, a file that could not be read, a secret to be supplied, a\nnewer state that did not arrive whole, a process that could not be looked at, a state older than --max-age. The output\nnames it. A cron line may go on with 3.',
  ],
  4: ['differs', 'The tree is not what the record says. agent verify lists each path; a holder whose tree has moved on is no such case.'],
  10: ['no agent here', 'Neither this directory nor one above it is an agent, or an init or a rehydrate of it was interrupted.'],
  11: [
    'busy or lost a race',
    'Another process works on the agent, writes into it, or runs it under a guard. The same command again may go through.',
  ],
  12: ['no key fits', 'The bytes are whole, and no key at hand opens them.'],
  13: ['damaged', 'Bytes are not what a digest or a signature says, or a part is missing. What is on this host was left as it is.'],
  14: ['may not act', 'This host, or this directory, is not the one copy that may act. agent status says who is, and what to type.'],
  15: ['stale or forked', 'This ledger ends before what this host has seen, or went another way.'],
  16: ['unsupported format', 'It was written by a newer program. It stays byte for byte as it is.'],
  17: ['requirement missing', 'The agent needs a program that is not on this host.'],
  18: ['invariant broken', 'Identity, memory or body changed and nobody said that it was meant. Nothing is offered until somebody does.'],
  70: ['bug', 'The program did not expect this. PERDURE_DEBUG=1 shows where; please report it.'],
  130: ['interrupted', 'It was told to end. The same command again goes on.'],
};

/** The page of a status or an error code; null where there is none. */
export function topicPage(name: string): string | null {
  const code = name.toUpperCase().replace(/-/g, '_');
  if (code in CODE_PAGES) {
    const page = CODE_PAGES[code as ErrorCode];
    return `${code} (status ${String(statusOf(code as ErrorCode))})\n\n${page}\n`;
  }
  const finding = FINDING_PAGES[code];
  if (finding !== undefined) return `${code} (a finding)\n\n${finding}\n`;
  const status = Object.entries(STATUS_PAGES).find(([number]) => number === name);
  if (status === undefined) return null;
  const [number, [title, text]] = status;
  const codes = (Object.keys(CODE_PAGES) as ErrorCode[]).filter((one) => String(statusOf(one)) === number);
  const list = codes.length === 0 ? '' : `\ncodes that end so: ${wrap(codes)}\n`;
  return `status ${number}: ${title}\n\n${text}\n${list}\n'agent help CODE' tells of each.\n`;
}

function wrap(words: readonly string[]): string {
  const lines: string[] = [''];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last.length + word.length > 90) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines.join('\n  ');
}
