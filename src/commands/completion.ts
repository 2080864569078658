import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { SHELLS, completionScript } from '../cli/completion.ts';
import { AgentError } from '../core/errors.ts';

export default class Completion extends AgentCommand {
  static override summary = 'print the completion script of a shell';
  static override usage = 'completion bash|zsh|fish';
  static override examples = [
    'perdure completion bash >~/.local/share/bash-completion/completions/perdure',
    'perdure completion zsh >"${fpath[1]}/_perdure"',
    'perdure completion fish >~/.config/fish/completions/perdure.fish',
  ];
  static override args = { shell: Args.string({ required: true }) };

  async answer({ args }: CommandInput, { program }: Context): Promise<Answer> {
    const shell = SHELLS.find((one) => one === args['shell']);
    if (shell === undefined)
      throw new AgentError('USAGE_WRONG', `'${String(args['shell'])}' is no shell that completions are written for`, {
        hints: SHELLS.map((one) => ({ command: `perdure completion ${one}` })),
      });
    return { document: await completionScript(program.commands, shell) };
  }
}
