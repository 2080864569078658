import { verifyBetween } from '../actions/between.ts';
import type { Ports } from '../actions/session/ports.ts';
import { verify } from '../actions/verify.ts';
import { AgentCommand, Args, Flags, type Answer, type CommandInput, type Context } from '../cli/command.ts';
import { CHANGE_MARK, columns, firstLines } from '../cli/text.ts';

export default class Verify extends AgentCommand {
  static override summary = 'prove a root, or a bundle file or directory; writes nothing anywhere';
  static override usage = 'verify [PATH] | verify --between A..B';
  static override description =
    'Reads every byte and trusts no index. Without a key that fits it checks bytes, signatures and order, and says "not opened".\nThat this host does not hold the agent is told, and is no failure.';
  static override examples = ['agent verify', 'agent verify ada.tar', 'ssh host cat ada.tar | agent verify -'];
  static override statuses = [
    '3 incomplete',
    '4 differs from its head',
    '12 no key fits',
    '13 damaged',
    '15 stale or forked',
    '16 unsupported',
  ];
  static override args = { path: Args.string() };
  static override flags = {
    between: Flags.string({ summary: 'check identity, memory and body from one recorded state to a later one', helpValue: 'A..B' }),
  };

  async answer({ args, flags }: CommandInput, { ports, terminal }: Context): Promise<Answer> {
    if (flags['between'] !== undefined) return between(ports, flags['between'] as string);
    const result = await verify(ports, { path: (args['path'] as string | undefined) ?? null, input: terminal.input });
    const rows = result.lines.map(({ name, ok, text }): readonly [string, string] => [`${ok ? ' ' : '!'} ${name}`, text]);
    const findings = result.findings.map((one) => `${one.code}: ${one.subject}${one.next === undefined ? '' : `\n  next: ${one.next}`}`);
    const changes = result.changes.map(({ kind, path }) => `  ${CHANGE_MARK[kind]} ${path}`);
    const verdict = result.status === 0 ? 'verified' : `not verified (status ${String(result.status)})`;
    const parts = [...firstLines(changes, 50), ...firstLines(findings, 50)];
    return {
      status: result.status,
      data: result,
      text: `${columns(rows)}${parts.map((line) => `${line}\n`).join('')}${verdict}: ${result.subject}\n`,
    };
  }
}

async function between(ports: Ports, range: string): Promise<Answer> {
  const result = await verifyBetween(ports, range);
  const rows = result.lines.map(({ name, ok, text }): readonly [string, string] => [`${ok ? ' ' : '!'} ${name}`, text]);
  return {
    status: result.status,
    data: result,
    text: `${columns(rows)}from record ${String(result.from)} to record ${String(result.to)}\n`,
  };
}
