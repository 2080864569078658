import { init, type InitResult } from '../actions/init.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { RECOVERY_FLAGS, recoveryOf } from '../cli/recovery-flags.ts';
import { columns, count, firstLines, showBytes } from '../cli/text.ts';
import { word } from '../core/shell.ts';
import type { CosignedKind } from '../ledger/record.ts';

export default class Init extends AgentCommand {
  static override summary = 'make an agent of a directory, in place, moving nothing';
  static override usage = 'init [DIR] --recovery-kit FILE | --no-recovery [--profile P] [--name N] [--cosign KIND]';
  static override examples = [
    'agent init ada --recovery-kit /media/stick/ada.kit',
    'agent init ada --custodian ~/.ssh/id_ed25519.pub --recovery-recipient age1… --cosign offer --cosign keys',
  ];
  static override args = { dir: Args.string({ default: '.' }) };
  static override flags = {
    ...RECOVERY_FLAGS,
    cosign: Flags.string({
      multiple: true,
      options: ['identity-update', 'evolve', 'memory-repair', 'keys', 'offer', 'gc'],
      summary: 'what the recovery key must sign, too: a declared change, a change of readers, an offer, states given up',
      helpValue: 'KIND',
    }),
    profile: Flags.string({ summary: 'layout: native or generic (found out by itself)', helpValue: 'P' }),
    name: Flags.string({ summary: "what people call it (the directory's name)", helpValue: 'N' }),
  };

  async answer({ flags, args }: CommandInput, { ports }: Context): Promise<Answer> {
    const result = await init(ports, {
      directory: String(args['dir']),
      profile: flags['profile'] as string | undefined,
      name: flags['name'] as string | undefined,
      recovery: recoveryOf(flags, `agent init${args['dir'] === '.' ? '' : ` ${word(String(args['dir']))}`}`),
      cosigned: (flags['cosign'] as CosignedKind[] | undefined) ?? [],
    });
    return { data: dataOf(result), text: textOf(result, String(args['dir'])), notes: result.warnings.map((one) => `warning: ${one}`) };
  }
}

function dataOf({ session, profile, survey, kit, warnings }: InitResult): unknown {
  const { classes, ...rest } = survey;
  return {
    agent: session.state.agent,
    name: session.name,
    root: session.root,
    profile,
    kit,
    warnings,
    classes: Object.fromEntries(classes),
    ...rest,
  };
}

function textOf({ session, profile, survey, kit }: InitResult, directory: string): string {
  const { classes, special, unclassified, databases, outside } = survey;
  const rows = [...classes]
    .filter(([name]) => name !== 'volatile' && name !== 'host')
    .map(([name, { files, bytes }]): readonly [string, string] => [`  ${name}`, `${count(files, 'file')}, ${showBytes(bytes)}`]);
  const out = (['volatile', 'host'] as const).flatMap((name) =>
    classes.has(name) ? [count(classes.get(name)?.files ?? 0, `${name} path`)] : [],
  );
  const lines = [
    ...(out.length === 0 && special.length === 0
      ? []
      : [`left out: ${[...out, ...(special.length === 0 ? [] : [count(special.length, 'special file')])].join(', ')}`]),
    ...(unclassified.count === 0
      ? []
      : [
          `no rule knows ${count(unclassified.count, 'file')} (captured as private memory):`,
          ...firstLines(
            unclassified.first.map((path) => `  ${path}`),
            5,
          ),
        ]),
    ...(databases.length === 0 ? [] : [`databases, copied whole only while nothing writes: ${firstLines(databases, 3).join(', ')}`]),
    ...(outside.length === 0
      ? []
      : [
          'links that lead out are kept as links; what they point to is not captured:',
          ...firstLines(
            outside.map((one) => `  ${one}`),
            5,
          ),
        ]),
    'not covered: extended attributes, ACLs, owners, and whatever of the agent lies outside this directory',
    'nothing enforces the fence yet: start the agent with agent guard -- CMD',
    session.state.recovery.length === 0
      ? 'no recovery key: a lost host is a lost agent'
      : kit === null
        ? `recovery key: ${session.state.recovery[0]?.key ?? ''}`
        : `recovery kit: ${kit} (move it to a medium that you put away)`,
  ];
  return `${session.name} is an agent: ${session.state.agent.slice(0, 12)} in ${session.root}, profile ${profile}\ncaptured:\n${columns(rows)}${lines.join('\n')}\nnext: agent ${directory === '.' ? '' : `-C ${word(directory)} `}checkpoint   # records the first state\n`;
}
