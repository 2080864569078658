import { rehydrate, type RehydrateResult } from '../actions/rehydrate.ts';
import { needText } from '../actions/awake/needs.ts';
import { AgentCommand, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { count, firstLines, showBytes } from '../cli/text.ts';
import { AgentError, STATUS } from '../core/errors.ts';
import { sixWords } from '../core/words.ts';
import { word } from '../core/shell.ts';

export default class Rehydrate extends AgentCommand {
  static override summary = 'put an agent in place from a bundle; it never acts';
  static override usage = 'rehydrate BUNDLE… DIR [--dry-run]';
  static override description =
    'Stages beside DIR, checks all from disk, and swaps in. An older tree of the same agent in DIR is kept in\nDIR/.perdure/local/old, and its host and secret files that the bundle does not bring are carried over.';
  static override examples = ['agent rehydrate ada.tar ada', "agent pack -o - | ssh vps 'perdure rehydrate - ada'"];
  static override statuses = [
    '3 secrets missing',
    '11 busy',
    '12 no key fits',
    '13 damaged',
    '15 older than what this host has seen',
    '17 requirement missing',
  ];
  static override strict = false;
  static override flags = { 'dry-run': Flags.boolean({ summary: 'check all and change nothing' }) };

  async answer({ flags, argv }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const directory = argv.at(-1);
    const bundles = argv.slice(0, -1);
    const unknown = argv.find((one) => one.startsWith('--'));
    if (unknown !== undefined)
      throw new AgentError('USAGE_WRONG', `unknown option '${unknown}'`, { hints: [{ command: 'agent rehydrate --help' }] });
    if (directory === undefined || bundles.length === 0)
      throw new AgentError('USAGE_WRONG', 'a bundle and a directory are needed', { hints: [{ command: 'agent rehydrate BUNDLE DIR' }] });
    const result = await rehydrate(ports, {
      bundles,
      directory,
      dryRun: flags['dry-run'] === true,
      input: terminal.input,
    });
    const { plan, ...rest } = result;
    const whole = result.missingSecrets.length === 0 && !result.older;
    return {
      status: whole ? STATUS.done : STATUS.incomplete,
      data: { ...rest, files: plan.files, bytes: plan.bytes, collisions: plan.collisions },
      // On stderr, so that `rehydrate && promote` has the reply alone on stdout.
      notes: [...notesOf(result), ...textOf(result).trimEnd().split('\n')],
    };
  }
}

function textOf({ name, agent, path, seq, plan, dryRun, offeredHere, answered, oldTree }: RehydrateResult): string {
  if (answered !== null)
    return `${name} is in ${path} already, and this host has answered\nnext: agent -C ${word(path)} ${answered}   # prints the reply again\n`;
  const what = `${name} ${sixWords(agent)}, record ${String(seq)}: ${count(plan.files, 'path')}, ${showBytes(plan.bytes)}`;
  if (dryRun) return `would put ${what} into ${path}; nothing was changed\n`;
  const kept = oldTree === null ? '' : `the tree that was there is kept in ${oldTree} until the next move to this host\n`;
  const next = offeredHere
    ? `next: agent -C ${word(path)} promote   # this host takes over; or: decline\n`
    : `next: agent -C ${word(path)} status\n`;
  return `${what} is in ${path}; it may not act yet\n${kept}${next}`;
}

function notesOf({ missingSecrets, older, needs, plan }: RehydrateResult): readonly string[] {
  return [
    ...(older ? ['the newest state did not arrive whole; this is an older one'] : []),
    ...(missingSecrets.length === 0
      ? []
      : [
          'to be supplied here, or brought by agent pack --include-secrets:',
          ...firstLines(
            missingSecrets.map((path) => `  ${path}`),
            50,
          ),
        ]),
    ...firstLines(
      needs.map((one) => `needed here: ${needText(one)}`),
      20,
    ),
    ...firstLines(
      plan.collisions.map((one) => `one name on a file system that folds case: ${one}`),
      10,
    ),
  ];
}
