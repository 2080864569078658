import { flagsOf, type CommandTable } from './command.ts';
import { flagShapes } from './help.ts';

/** Shells that completions are written for. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;

/** The names of the program. */
const NAMES = ['perdure', 'agent'] as const;

interface Words {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly { readonly name: string; readonly takes: boolean; readonly summary: string }[];
}

/** The completion script of a shell: commands, flags, and files. It asks the program nothing, so that it is fast. */
export async function completionScript(table: CommandTable, shell: (typeof SHELLS)[number]): Promise<string> {
  const words: Words[] = [];
  for (const [name, { summary, load }] of Object.entries(table))
    words.push({
      name,
      summary,
      flags: flagShapes(flagsOf(await load())).map(([flag, shape]) => ({
        name: flag,
        takes: shape.type === 'option',
        summary: shape.summary ?? '',
      })),
    });
  return shell === 'bash' ? bash(words) : shell === 'zsh' ? zsh(words) : fish(words);
}

function firsts(words: readonly Words[]): readonly string[] {
  return [...new Set(words.map(({ name }) => name.split(' ')[0] ?? ''))];
}

function bash(words: readonly Words[]): string {
  const cases = words.map(({ name, flags }) => `    '${name}') flags='${flags.map((flag) => `--${flag.name}`).join(' ')}' ;;`);
  const subs = firsts(words).flatMap((first) => {
    const seconds = words.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name.slice(first.length + 1)] : []));
    return seconds.length === 0 ? [] : [`    ${first}) subs='${seconds.join(' ')}' ;;`];
  });
  return `# bash completion of perdure; source it, or put it into ~/.local/share/bash-completion/completions/perdure
_perdure() {
  local cur=\${COMP_WORDS[COMP_CWORD]} at=1 first= second= flags= subs=
  while [ $at -lt $COMP_CWORD ]; do
    case \${COMP_WORDS[at]} in
      -C) at=$((at + 1)) ;;
      -*) ;;
      *) if [ -z "$first" ]; then first=\${COMP_WORDS[at]}; elif [ -z "$second" ]; then second=\${COMP_WORDS[at]}; fi ;;
    esac
    at=$((at + 1))
  done
  COMPREPLY=()
  case \${COMP_WORDS[COMP_CWORD-1]} in
    -C) COMPREPLY=($(compgen -d -- "$cur")); return ;;
    completion) COMPREPLY=($(compgen -W '${SHELLS.join(' ')}' -- "$cur")); return ;;
    help) COMPREPLY=($(compgen -W '${firsts(words).join(' ')}' -- "$cur")); return ;;
  esac
  if [ -z "$first" ]; then
    COMPREPLY=($(compgen -W '${[...firsts(words), 'help'].join(' ')} -C --help --version' -- "$cur"))
    return
  fi
  case $first in
${subs.join('\n')}
  esac
  if [ -n "$subs" ] && [ -z "$second" ]; then COMPREPLY=($(compgen -W "$subs" -- "$cur")); return; fi
  [ -n "$subs" ] && first="$first $second"
  case $first in
${cases.join('\n')}
  esac
  case $cur in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$cur")) ;;
    *) COMPREPLY=($(compgen -f -- "$cur")) ;;
  esac
}
complete -o filenames -F _perdure ${NAMES.join(' ')}
`;
}

/** Text within single quotes of a shell. */
function quoted(text: string): string {
  return text.replace(/'/g, "'\\''");
}

function zsh(words: readonly Words[]): string {
  const plain = (text: string): string => quoted(text.replace(/[[\]:]/g, ' '));
  const list = firsts(words).map((first) => `    '${first}:${plain(words.find(({ name }) => name === first)?.summary ?? `${first} …`)}'`);
  const cases = words.map(({ name, flags }) => {
    const specs = flags.map(
      (flag) => `'--${flag.name}${flag.takes ? '=' : ''}[${plain(flag.summary)}]${flag.takes ? ':value:_files' : ''}'`,
    );
    return `    '${name}') _arguments -s ${specs.join(' ')} '*:file:_files' ;;`;
  });
  const subs = firsts(words).flatMap((first) => {
    const seconds = words.filter(({ name }) => name.startsWith(`${first} `));
    return seconds.length === 0
      ? []
      : [
          `    ${first}) (( CURRENT == 2 )) && { _values '${first}' ${seconds.map(({ name, summary }) => `'${name.slice(first.length + 1)}[${plain(summary)}]'`).join(' ')}; return }; command="$command $words[2]"; shift words; (( CURRENT-- )) ;;`,
        ];
  });
  return `#compdef ${NAMES.join(' ')}
# zsh completion of perdure; put it into a directory of $fpath as _perdure
_perdure() {
  local command
  local -a commands=(
${list.join('\n')}
  )
  while [[ $words[2] == -C ]]; do shift 2 words; (( CURRENT -= 2 )); done
  if (( CURRENT <= 2 )); then _describe command commands; return; fi
  shift words; (( CURRENT-- ))
  command=$words[1]
  case $command in
${subs.join('\n')}
  esac
  case $command in
${cases.join('\n')}
    *) _files ;;
  esac
}
_perdure "$@"
`;
}

function fish(words: readonly Words[]): string {
  const lines = NAMES.flatMap((program) => [
    `complete -c ${program} -n __fish_use_subcommand -s C -r -a '(__fish_complete_directories)' -d 'the agent or a directory in it'`,
    ...firsts(words).map((first) => {
      const summary = words.find(({ name }) => name === first)?.summary ?? `${first} …`;
      return `complete -c ${program} -n __fish_use_subcommand -f -a '${first}' -d '${quoted(summary)}'`;
    }),
    ...words.flatMap(({ name, summary, flags }) => {
      const [first = '', second] = name.split(' ');
      const seen =
        second === undefined
          ? `__fish_seen_subcommand_from ${first}`
          : `__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}`;
      return [
        ...(second === undefined
          ? []
          : [`complete -c ${program} -n '__fish_seen_subcommand_from ${first}' -f -a '${second}' -d '${quoted(summary)}'`]),
        ...flags.map(
          (flag) => `complete -c ${program} -n '${seen}' -l ${flag.name}${flag.takes ? ' -r' : ''} -d '${quoted(flag.summary)}'`,
        ),
      ];
    }),
  ]);
  return `# fish completion of perdure; put it into ~/.config/fish/completions/perdure.fish\n${lines.join('\n')}\n`;
}
