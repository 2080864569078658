import { show, type ShowResult } from '../actions/show.ts';
import { AgentCommand, Args, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { columns, count, showBytes } from '../cli/text.ts';
import { showName, storeName } from '../core/name.ts';

export default class Show extends AgentCommand {
  static override summary = 'show a recorded state, or a file or directory in it';
  static override usage = 'show [REV[:PATH]]';
  static override description = "REV is HEAD (the newest), HEAD~2, a record's number, or the first digits of a manifest's digest.";
  static override examples = ['agent show', 'agent show HEAD~1:private/self.json', 'agent show HEAD:private/'];
  static override statuses = ['12 no key fits', '13 damaged'];
  static override args = { rev: Args.string({ default: 'HEAD' }) };

  async answer({ args }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    const result = await show(ports, String(args['rev']));
    if (result.kind === 'file') {
      for await (const bytes of result.content) await terminal.write(bytes);
      return { document: '' };
    }
    return { data: dataOf(result), text: textOf(result) };
  }
}

function dataOf(result: Exclude<ShowResult, { kind: 'file' }>): unknown {
  if (result.kind === 'link') return { ...result, target: storeName(result.target) };
  if (result.kind === 'state') return result;
  return {
    ...result,
    entries: result.entries.map(({ name, type, mode, mtime, class: kind, ...rest }) => ({
      name: storeName(name),
      type,
      mode,
      mtime,
      class: kind,
      ...('size' in rest ? { size: rest.size } : {}),
    })),
  };
}

function textOf(result: Exclude<ShowResult, { kind: 'file' }>): string {
  if (result.kind === 'link') return `-> ${showName(result.target)}\n`;
  if (result.kind === 'directory')
    return columns(
      result.entries.map((entry) => [
        `${entry.mode.toString(8).padStart(4, '0')} ${entry.class.padEnd(8)} ${entry.type === 'file' ? entry.size.padStart(12) : '-'.padStart(12)}`,
        `${showName(entry.name)}${entry.type === 'directory' ? '/' : entry.type === 'link' ? ` -> ${showName(entry.target)}` : ''}`,
      ]),
    );
  const { facts } = result;
  return columns([
    ['record', `${String(result.seq)}, state ${result.manifest}`],
    ...(facts.message === undefined ? [] : ([['message', showName(facts.message)]] as const)),
    ['consistency', facts.consistency],
    ...Object.entries(facts.counts).map(([name, files]): readonly [string, string] => [
      name,
      `${count(files, 'path')}${facts.classes[name] === undefined ? '' : `, ${facts.classes[name].slice(0, 12)}`}`,
    ]),
    [
      'body',
      facts.body?.kind === 'git'
        ? `git ${facts.body.revision ?? 'without a commit'}${facts.body.dirty === true ? ', dirty' : ''}`
        : 'files',
    ],
    ['coverage', `${String(facts.coverage.included)} of ${count(facts.coverage.walked, 'path')}, ${showBytes(facts.coverage.bytes)}`],
    ...facts.findings.map((one): readonly [string, string] => ['finding', `${one.code}: ${one.subject}`]),
    ...facts.alarms.map((one): readonly [string, string] => ['alarm', `${one.code}: ${one.subject}`]),
    ['store', `${count(result.packs, 'pack')}, ${showBytes(result.bytes)}`],
    [
      'environment',
      Object.entries(facts.labels)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    ],
  ]);
}
