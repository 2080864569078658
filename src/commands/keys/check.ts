import { checkKey } from '../../actions/check-key.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../../cli/command.ts';
import { CUSTODIAN_FLAGS, custodianSource } from '../../cli/custodian-flags.ts';
import { readPassphrase } from '../../cli/terminal.ts';
import { count } from '../../cli/text.ts';

export default class KeysCheck extends AgentCommand {
  static override summary = 'prove that a key really opens the newest state';
  static override usage = 'keys check [PATH] [--kit FILE | --identity FILE | --passphrase-file FILE]';
  static override description =
    'PATH is a root or a bundle; without a key, the key of this host is tried. Every pack is decrypted; nothing is written.\nRun it now and then with the kit that you put away: a backup that no key opens is none.';
  static override examples = ['agent keys check --kit /media/stick/ada.kit', 'agent keys check /mnt/nas/ada --identity reader.txt'];
  static override statuses = ['12 the key opens nothing', '13 damaged'];
  static override args = { path: Args.string() };
  static override flags = {
    ...CUSTODIAN_FLAGS,
    'passphrase-file': Flags.string({ summary: 'a file whose first line is a passphrase', helpValue: 'FILE' }),
  };

  async answer(input: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const file = input.flags['passphrase-file'] as string | undefined;
    const result = await checkKey(ports, {
      path: (input.args['path'] as string | undefined) ?? null,
      input: terminal.input,
      key: { ...custodianSource(input), ...(file === undefined ? {} : { passphrase: await readPassphrase(terminal, file) }) },
    });
    const secrets = result.secrets === null ? 'there are no secrets' : result.secrets ? 'secrets too' : 'not the secrets';
    return {
      data: result,
      text: `the key opens record ${String(result.seq)} of ${result.subject}: ${count(result.files, 'path')}, ${secrets} (${String(result.packs - result.closed)} of ${count(result.packs, 'pack')})\n`,
    };
  }
}
