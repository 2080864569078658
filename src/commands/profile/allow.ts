import { allowProfile } from '../../actions/hooks.ts';
import { AgentCommand, type Answer, type Context } from '../../cli/command.ts';

export default class ProfileAllow extends AgentCommand {
  static override summary = "let this host run the commands of the root's profile";
  static override usage = 'profile allow';
  static override description =
    'Exactly this profile is allowed: another one, or this one altered, is not. It prints the commands that fence, resume and status --after-move will run.\nUnits of systemd that the profile knows are then disabled by a fence and enabled again by a resume.';

  async answer(_: unknown, { ports }: Context): Promise<Answer> {
    const result = await allowProfile(ports);
    const lines = [
      ...result.stop.map((argv) => `fence runs: ${argv.join(' ')}\n`),
      ...result.start.map((argv) => `resume runs: ${argv.join(' ')}\n`),
      ...result.wake.map((argv) => `status --after-move runs: ${argv.join(' ')}\n`),
    ];
    return {
      data: result,
      text: `${lines.length === 0 ? 'it has no commands\n' : lines.join('')}allowed: profile ${result.name} ${result.digest.slice(0, 12)}\n`,
    };
  }
}
