import type { CommandClass, Program } from './cli/command.ts';
import { main } from './cli/main.ts';
import { processTerminal } from './cli/terminal.ts';

/** Set by the build. */
declare const PERDURE_VERSION: string;

type Module = Promise<{ readonly default: unknown }>;
const entry = (summary: string, load: () => Module): Program['commands'][string] => ({
  summary,
  load: async () => (await load()).default as CommandClass,
});

/** Every command, loaded when it is called. */
const commands: Program['commands'] = {
  init: entry('make an agent of a directory, in place', () => import('./commands/init.ts')),
  checkpoint: entry('record the state of the tree', () => import('./commands/checkpoint.ts')),
  status: entry('who may act and why, what changed, what to type next', () => import('./commands/status.ts')),
  log: entry('list the records of the ledger', () => import('./commands/log.ts')),
  show: entry('show a recorded state, or a file in it', () => import('./commands/show.ts')),
  diff: entry('list what differs', () => import('./commands/diff.ts')),
  verify: entry('prove a root or a bundle; writes nothing', () => import('./commands/verify.ts')),
  invite: entry("on the target: print this host's invite", () => import('./commands/invite.ts')),
  fence: entry('stop the agent and offer it to another host', () => import('./commands/fence.ts')),
  pack: entry('write a bundle: all that travels, sealed', () => import('./commands/pack.ts')),
  rehydrate: entry('on the target: put the agent in place', () => import('./commands/rehydrate.ts')),
  promote: entry('on the target: take over, print the reply', () => import('./commands/promote.ts')),
  rehome: entry('after a move: rewrite old paths, hold queues', () => import('./commands/rehome.ts')),
  release: entry('put back what a rehome held', () => import('./commands/release.ts')),
  decline: entry('on the target: give the offer back, print the reply', () => import('./commands/decline.ts')),
  close: entry("bring the target's answer home", () => import('./commands/close.ts')),
  resume: entry('let the agent act again here', () => import('./commands/resume.ts')),
  revoke: entry('take an offer back whose target is lost', () => import('./commands/revoke.ts')),
  recover: entry('bring an agent back whose host is lost', () => import('./commands/recover.ts')),
  guard: entry('run a command only while this host may act', () => import('./commands/guard.ts')),
  completion: entry('print the completion script of a shell', () => import('./commands/completion.ts')),
  context: entry('print identity and body as two labelled inputs', () => import('./commands/context.ts')),
  restore: entry('put the tree back to a recorded state', () => import('./commands/restore.ts')),
  descend: entry('make a new agent of this one', () => import('./commands/descend.ts')),
  gc: entry('give up old states, fold small packs, free space', () => import('./commands/gc.ts')),
  'keys list': entry('who reads the agent, and by which keys', () => import('./commands/keys/list.ts')),
  'keys add': entry('let a further key read all but the secrets', () => import('./commands/keys/add.ts')),
  'keys remove': entry('take a reader away', () => import('./commands/keys/remove.ts')),
  'keys rotate': entry('open new store keys', () => import('./commands/keys/rotate.ts')),
  'keys check': entry('prove that a key opens the newest state', () => import('./commands/keys/check.ts')),
  'keys custody': entry('replace the recovery key', () => import('./commands/keys/custody.ts')),
  'af import': entry('write the directory that an agent file of Letta is', () => import('./commands/af/import.ts')),
  'af export': entry('write an agent file of Letta from the agent', () => import('./commands/af/export.ts')),
  'profile allow': entry("let this host run the profile's commands", () => import('./commands/profile/allow.ts')),
  'profile list': entry('list the layouts that are known', () => import('./commands/profile/list.ts')),
  'profile new': entry('write a profile of your own', () => import('./commands/profile/new.ts')),
  'profile test': entry('tell what each path of a directory is', () => import('./commands/profile/test.ts')),
  'profile explain': entry('tell what a path is and what becomes of it', () => import('./commands/profile/explain.ts')),
};

const groups: Program['groups'] = [
  ['keep', ['init', 'checkpoint', 'pack', 'verify', 'restore', 'gc', 'descend']],
  ['look', ['status', 'log', 'show', 'diff', 'context', 'completion']],
  ['move (in this order)', ['invite', 'fence', 'pack', 'rehydrate', 'promote', 'close', 'rehome', 'release', 'decline']],
  ['when something is lost', ['recover', 'revoke']],
  ['keys', ['keys list', 'keys add', 'keys remove', 'keys rotate', 'keys check', 'keys custody']],
  ['layouts', ['profile list', 'profile test', 'profile explain', 'profile new', 'profile allow']],
  ['agent files of Letta', ['af import', 'af export']],
  ['act', ['guard', 'resume']],
];

/** The whole program. */
export const program: Program = { version: PERDURE_VERSION, commands, groups };

/** Runs the program for this process, with threads of the script `worker`; resolves to the exit status. */
export async function run(worker: URL): Promise<number> {
  return main(program, process.argv.slice(2), { terminal: processTerminal(), worker });
}
