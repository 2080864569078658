import { listProfiles } from '../../actions/profiles.ts';
import { AgentCommand, type Answer, type Context } from '../../cli/command.ts';
import { columns } from '../../cli/text.ts';

export default class ProfileList extends AgentCommand {
  static override summary = 'list the layouts that are known: your own, and those of the program';
  static override usage = 'profile list';

  async answer(_: unknown, { ports }: Context): Promise<Answer> {
    const profiles = await listProfiles(ports);
    return {
      data: { directory: ports.profileDirectory, profiles },
      text: columns(profiles.map(({ name, about, file, fault }) => [name, `${fault ?? about}${file === null ? '' : ` (${file})`}`])),
    };
  }
}
