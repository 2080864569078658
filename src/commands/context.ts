import { context, type ContextPart } from '../actions/context.ts';
import { AgentCommand, type Answer, type Context as Given } from '../cli/command.ts';

export default class Context extends AgentCommand {
  static override summary = 'print identity and body as two labelled inputs for a fresh session';
  static override usage = 'context';
  static override description =
    'Both are read afresh. What names a host, a body package, a model or an account is body or environment, never identity.';

  async answer(_: unknown, { ports }: Given): Promise<Answer> {
    const result = await context(ports);
    const section = (label: string, parts: readonly ContextPart[]): string =>
      parts.map(({ path, text }) => `=== ${label}: ${path}\n${text.endsWith('\n') ? text : `${text}\n`}`).join('');
    return { data: result, text: section('identity', result.identity) + section('body', result.body) };
  }
}
