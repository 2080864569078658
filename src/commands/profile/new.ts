import { newProfile } from '../../actions/profiles.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { word } from '../../core/shell.ts';

export default class ProfileNew extends AgentCommand {
  static override summary = 'write a profile of your own that goes on from another one';
  static override usage = 'profile new NAME [--extends PROFILE]';
  static override examples = ['agent profile new my-claw --extends openclaw'];
  static override args = { name: Args.string({ required: true }) };
  static override flags = {
    extends: Flags.string({ summary: 'the profile that it goes on from (that of its name, or generic)', helpValue: 'PROFILE' }),
  };

  async answer({ flags, args }: CommandInput, { ports }: Context): Promise<Answer> {
    const name = String(args['name']);
    const result = await newProfile(ports, { name, base: flags['extends'] as string | undefined });
    return {
      data: result,
      text: `${word(result.path)}\nnext: agent profile test DIR --profile ${name}   # after you edited it: its rules come first\n`,
    };
  }
}
