import { descend } from '../actions/descend.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { RECOVERY_FLAGS, recoveryOf } from '../cli/recovery-flags.ts';
import { count, firstLines } from '../cli/text.ts';
import { word } from '../core/shell.ts';
import type { FileClass } from '../profile/profile.ts';

export default class Descend extends AgentCommand {
  static override summary = "make a new agent of this one's identity and body";
  static override usage =
    'descend DIR --recovery-kit FILE | --no-recovery [--class CLASS] [--from REV] [--proof] [--without PATH] [--accept PATH]';
  static override description =
    "The new agent has keys, an id and a ledger of its own, and none of the parent's private files but those of the classes\nthat you name. Files that may hold secrets are left out whole and listed; where another one looks as if it held one, nothing is written.\nThe parent goes on as it is.";
  static override examples = [
    'agent descend ../bea --recovery-kit /media/stick/bea.kit',
    'agent descend ../bea --no-recovery --class memory',
  ];
  static override statuses = ['12 no key fits', '14 may not prove its parent'];
  static override args = { dir: Args.string({ required: true }) };
  static override flags = {
    ...RECOVERY_FLAGS,
    accept: Flags.string({ multiple: true, summary: 'a path where what looks like a secret is none', helpValue: 'PATH' }),
    class: Flags.string({
      multiple: true,
      options: ['memory', 'workflow', 'config', 'artifact'],
      summary: 'a class that it gets, too: memory, workflow, config, artifact',
      helpValue: 'CLASS',
    }),
    from: Flags.string({ summary: 'the state that it is made of (HEAD)', helpValue: 'REV' }),
    name: Flags.string({ summary: "what people call it (the directory's name)", helpValue: 'N' }),
    pq: Flags.boolean({ summary: 'hybrid keys, safe from a quantum computer' }),
    proof: Flags.boolean({ summary: "name the parent in the new agent's first record, for whoever has both ledgers" }),
    without: Flags.string({ multiple: true, summary: 'a file or directory that it does not get', helpValue: 'PATH' }),
  };

  async answer({ flags, args }: CommandInput, { ports }: Context): Promise<Answer> {
    const { session, ...result } = await descend(ports, {
      directory: String(args['dir']),
      revision: flags['from'] as string | undefined,
      classes: (flags['class'] as FileClass[] | undefined) ?? [],
      name: flags['name'] as string | undefined,
      hybrid: flags['pq'] === true,
      recovery: recoveryOf(flags, 'agent descend DIR'),
      proof: flags['proof'] === true,
      without: (flags['without'] as string[] | undefined) ?? [],
      accept: (flags['accept'] as string[] | undefined) ?? [],
    });
    const { parent, seq, files, leftOut, without, accepted, notLookedInto } = result;
    return {
      data: { agent: session.state.agent, name: session.name, root: session.root, ...result },
      text: `${session.name} is an agent: ${session.state.agent.slice(0, 12)} in ${session.root}, ${count(files, 'file')} of ${parent}, record ${String(seq)}\nnext: agent -C ${word(session.root)} checkpoint   # after you edited its identity, which is its parent's word for word\n`,
      notes: [
        ...listed('left out, since they may hold secrets:', leftOut),
        ...listed('left out, as you said:', without),
        ...listed(
          'looks like a secret, and is none, as you said:',
          accepted.map(({ path, rule, line }) => `${path}, line ${String(line)}: ${rule}`),
        ),
        ...listed(
          'not looked into for secrets:',
          notLookedInto.map(({ path, kind }) => `${path}: ${kind}`),
        ),
      ],
    };
  }
}

function listed(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0
    ? []
    : [
        title,
        ...firstLines(
          lines.map((line) => `  ${line}`),
          50,
        ),
      ];
}
