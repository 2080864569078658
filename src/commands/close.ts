import { open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { close, closeByBundle, type CloseResult } from '../actions/close.ts';
import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { readDocument } from '../cli/terminal.ts';

export default class Close extends AgentCommand {
  static override summary = "bring the target's answer home, or a newer ledger from a bundle";
  static override usage = 'close REPLY | close BUNDLE';
  static override description =
    'REPLY is a file or -. After promote this host stays fenced for good; after decline it may act again. A BUNDLE (a file or a\ndirectory) brings the ledger of an agent that was recovered elsewhere: a lost host that came back learns so that it is not it.';
  static override examples = ["ssh vps 'perdure -C ada promote' | perdure close -", 'agent close /mnt/nas/ada'];
  static override statuses = ['13 the reply was altered', '14 this directory is a copy', '15 stale or forked'];
  static override args = { reply: Args.string({ required: true }) };

  async answer({ args }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const path = String(args['reply']);
    const file = resolve(terminal.cwd, path);
    const result =
      path !== '-' && (await isBundle(file))
        ? await closeByBundle(ports, { path: file, input: terminal.input })
        : await close(ports, await readDocument(terminal, path === '-' ? path : file));
    const { session, added, answer } = result;
    return { data: { answer, added, seq: session.state.seq, epoch: session.state.epoch }, text: `${textOf(result)}\n` };
  }
}

function textOf({ session, added, answer, givenUp, isDropped }: CloseResult): string {
  const epoch = `epoch ${String(session.state.epoch)}`;
  if (answer === 'promote') return `${session.name} has moved (${epoch}); this host may not act as it`;
  if (answer === 'decline') return `${session.name} was declined; it may act here again`;
  if (givenUp === true) return `the bundle is of a branch of ${session.name} that a recover gave up; nothing was taken from it`;
  if (added === 0) return `the ledger of ${session.name} here has all that the bundle has`;
  return `${String(added)} record${added === 1 ? '' : 's'} came home (${epoch})${isDropped === true ? '; what this host recorded beside them is given up, and kept in .perdure/local/dropped' : ''}\nnext: agent status   # who may act now`;
}

/** Whether a path is a bundle and no message: a directory, or a file that does not begin as JSON. */
async function isBundle(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null || found.isDirectory()) return found !== null;
  if (!found.isFile()) return false;
  const handle = await open(path);
  try {
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(1), 0, 1, 0);
    return bytesRead === 1 && buffer[0] !== 0x7b;
  } finally {
    await handle.close();
  }
}
