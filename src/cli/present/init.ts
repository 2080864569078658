import type { InitResult } from '../../actions/init.ts';
import { columns, count, firstLines, showBytes } from '../text.ts';
import { word } from '../../core/shell.ts';

/** Says what came of `agent init`, for a person. */
export function initData({ session, profile, survey, elsewhere, agents, kit, warnings }: InitResult): unknown {
  const { classes, ...rest } = survey;
  return {
    agent: session.state.agent,
    name: session.name,
    root: session.root,
    profile,
    kit,
    warnings,
    elsewhere,
    agents,
    classes: Object.fromEntries(classes),
    ...rest,
  };
}

/** Says what came of `agent init`, for a person. */
export function initText({ session, profile, survey, elsewhere, agents, kit }: InitResult, directory: string): string {
  const { classes, special, unclassified, databases, outside, mixed } = survey;
  const rows = [...classes]
    .filter(([name]) => name !== 'volatile' && name !== 'host')
    .map(([name, { files, bytes }]): readonly [string, string] => [`  ${name}`, `${count(files, 'file')}, ${showBytes(bytes)}`]);
  const out = (['volatile', 'host'] as const).flatMap((name) =>
    classes.has(name) ? [count(classes.get(name)?.files ?? 0, `${name} path`)] : [],
  );
  const lines = [
    ...(agents.length < 2
      ? []
      : [`it holds ${count(agents.length, 'agent')}, which are one here and move together: ${firstLines(agents, 8).join(', ')}`]),
    ...(out.length === 0 && special.length === 0
      ? []
      : [`left out: ${[...out, ...(special.length === 0 ? [] : [count(special.length, 'special file')])].join(', ')}`]),
    ...(unclassified.count === 0
      ? []
      : [
          `no rule knows ${count(unclassified.count, 'file')} (captured as private memory):`,
          ...unclassified.first.slice(0, 5).map((path) => `  ${path}`),
          ...(unclassified.count > 5
            ? [`  … and ${String(unclassified.count - 5)} more; agent profile test --unclassified lists them`]
            : []),
        ]),
    ...(databases.length === 0
      ? []
      : [`databases, copied by SQLite itself while something writes: ${firstLines(databases, 3).join(', ')}`]),
    ...(mixed.length === 0 ? [] : [`hold credentials beside what they are, and travel with the rest: ${firstLines(mixed, 5).join(', ')}`]),
    ...(elsewhere.length === 0
      ? []
      : [
          'belongs to the agent and lies elsewhere:',
          ...firstLines(
            elsewhere.map(
              ({ path, class: kind, about, captured }) => `  ${captured ? 'captured' : 'not captured'}: ${path} (${kind}): ${about}`,
            ),
            8,
          ),
        ]),
    ...(outside.length === 0
      ? []
      : [
          'links that lead out are kept as links; what they point to is not captured:',
          ...firstLines(
            outside.map((one) => `  ${one}`),
            5,
          ),
        ]),
    'not covered: extended attributes, ACLs, owners, and whatever else of the agent lies outside this directory',
    'nothing enforces the fence yet: start the agent with agent guard -- CMD',
    session.state.recovery.length === 0
      ? 'no recovery key: a lost host is a lost agent'
      : kit === null
        ? `recovery key: ${session.state.recovery[0]?.key ?? ''}`
        : `recovery kit: ${kit} (move it to a medium that you put away)`,
  ];
  return `${session.name} is an agent: ${session.state.agent.slice(0, 12)} in ${session.root}, profile ${profile}\ncaptured:\n${columns(rows)}${lines.join('\n')}\nnext: agent ${directory === '.' ? '' : `-C ${word(directory)} `}checkpoint   # records the first state\n`;
}
