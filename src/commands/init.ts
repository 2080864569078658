import { init } from '../actions/init.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { RECOVERY_FLAGS, recoveryOf } from '../cli/recovery-flags.ts';
import { word } from '../core/shell.ts';
import type { CosignedKind } from '../ledger/record.ts';
import { initData, initText } from '../cli/present/init.ts';

export default class Init extends AgentCommand {
  static override summary = 'make an agent of a directory, in place, moving nothing';
  static override usage = 'init [DIR] --recovery-kit FILE | --no-recovery [--profile P] [--name N] [--cosign KIND] [--pq] [--control DIR]';
  static override examples = [
    'agent init ada --recovery-kit /media/stick/ada.kit',
    'agent init ada --custodian ~/.ssh/id_ed25519.pub --recovery-recipient age1… --cosign offer --cosign keys',
  ];
  static override args = { dir: Args.string({ default: '.' }) };
  static override flags = {
    ...RECOVERY_FLAGS,
    control: Flags.string({ summary: 'keep the control directory there; the agent gets a file that says so', helpValue: 'DIR' }),
    pq: Flags.boolean({ summary: 'hybrid keys, safe from a quantum computer; stock age opens them from 1.3 on' }),
    cosign: Flags.string({
      multiple: true,
      options: ['identity-update', 'evolve', 'memory-repair', 'keys', 'offer', 'gc'],
      summary: 'what the recovery key must sign, too: a declared change, a change of readers, an offer, states given up',
      helpValue: 'KIND',
    }),
    profile: Flags.string({ summary: 'layout (found out by itself): agent profile list', helpValue: 'P' }),
    name: Flags.string({ summary: "what people call it (the directory's name)", helpValue: 'N' }),
  };

  async answer({ flags, args }: CommandInput, { ports }: Context): Promise<Answer> {
    const result = await init(ports, {
      directory: String(args['dir']),
      profile: flags['profile'] as string | undefined,
      name: flags['name'] as string | undefined,
      hybrid: flags['pq'] === true,
      control: flags['control'] as string | undefined,
      recovery: recoveryOf(flags, `agent init${args['dir'] === '.' ? '' : ` ${word(String(args['dir']))}`}`),
      cosigned: (flags['cosign'] as CosignedKind[] | undefined) ?? [],
    });
    return { data: initData(result), text: initText(result, String(args['dir'])), notes: result.warnings.map((one) => `warning: ${one}`) };
  }
}
