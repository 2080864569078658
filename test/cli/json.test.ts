import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkedOutput } from '../support/output.ts';
import { run } from '../support/run.ts';
import { nativeAgent, temporary } from '../support/tree.ts';

test('every command prints one document with --json that its schema allows, on failure too', () => {
  const directory = temporary();
  const home = join(directory, 'a', 'ada');
  mkdirSync(home, { recursive: true });
  nativeAgent(home);
  const a = join(directory, 'host-a');
  const b = join(directory, 'host-b');
  const json = (
    argv: readonly string[],
    options: { readonly host?: string; readonly cwd?: string; readonly status?: number; readonly input?: Buffer } = {},
  ): ReturnType<typeof checkedOutput> => {
    const done = run([...argv, '--json'], {
      host: options.host ?? a,
      cwd: options.cwd ?? home,
      ...(options.input === undefined ? {} : { input: options.input }),
    });
    expect(done.status, `${argv.join(' ')}: ${done.stderr.toString()}`).toBe(options.status ?? 0);
    expect(done.stdout.toString().trim().split('\n')).toHaveLength(1);
    return checkedOutput(done.stdout.toString());
  };
  const document = (argv: readonly string[], host: string, cwd: string): Buffer => run(argv, { host, cwd }).stdout;

  expect(json(['status'], { cwd: directory, status: 10 }).error?.code).toBe('AGENT_MISSING');
  json(['init'], { status: 2 });
  json(['init', '--recovery-kit', '../ada.kit']);
  json(['init', '--no-recovery'], { status: 1 });
  json(['show'], { status: 1 });
  json(['checkpoint', '-m', 'first']);
  json(['checkpoint']);
  json(['status']);
  json(['log']);
  json(['show']);
  json(['show', 'HEAD:private/memory']);
  json(['show', 'HEAD:nowhere'], { status: 2 });
  json(['diff']);
  json(['diff', 'HEAD', 'HEAD']);
  json(['verify']);
  json(['verify', '--between', 'HEAD..HEAD']);
  json(['verify', '--between', 'x'], { status: 2 });
  json(['context']);
  json(['profile', 'explain', 'private/secrets/chat.env']);
  json(['profile', 'explain', '/etc/passwd'], { status: 2 });
  json(['profile', 'allow']);
  json(['profile', 'list']);
  json(['profile', 'test']);
  json(['profile', 'test', '--profile', 'nonsense'], { status: 2 });
  json(['profile', 'new', 'No Name'], { status: 2 });
  json(['rehome', '--dry-run']);
  json(['rehome', '--map', 'nonsense'], { status: 2 });
  json(['rehome']);
  json(['release']);
  json(['status', '--after-move']);
  writeFileSync(join(home, 'private/memory/note-1.md'), 'newer\n');
  json(['checkpoint', '--to', '../../nas']);
  json(['status', '--max-age', '0s'], { status: 3 });
  json(['restore', 'HEAD~1', '--dry-run']);
  json(['restore', 'HEAD~1'], { status: 2 });
  json(['restore', 'HEAD~1', '--yes']);
  json(['restore', 'HEAD', '--to', '../../look']);
  json(['restore', '99'], { status: 2 });
  json(['gc', '--keep-last', '1', '--dry-run']);
  json(['gc', '--keep-last', '1']);
  json(['gc', '--bundle', '../../nas']);
  json(['keys', 'list']);
  const reader = 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq';
  json(['keys', 'add', reader], { status: 2 });
  writeFileSync(join(directory, 'pass'), 'correct horse battery staple\n');
  const added = json(['keys', 'add', '--passphrase-file', '../../pass']).data as { readonly recipient: string };
  json(['keys', 'remove', added.recipient]);
  json(['keys', 'rotate']);
  json(['keys', 'check', '--kit', '../ada.kit']);
  json(['keys', 'custody', '--kit', '../ada.kit', '--new-kit', '../new.kit']);
  json(['checkpoint', '--to', '../../nas']);
  json(['recover', 'nas', 'r/ada', '--kit', 'a/ada.kit'], { host: join(directory, 'host-r'), cwd: directory, status: 12 });
  json(['recover', 'nas', 'r/ada', '--kit', 'a/new.kit'], { host: join(directory, 'host-r'), cwd: directory, status: 2 });
  json(['recover', 'nas', 'r/ada', '--kit', 'a/new.kit', '--yes', '--reason', 'test'], { host: join(directory, 'host-r'), cwd: directory });
  json(['descend', '../bea', '--no-recovery']);
  json(['descend', '../bea', '--no-recovery'], { status: 1 });
  json(['fence', '--dry-run']);
  json(['fence', '--drain', 'soon'], { status: 2 });
  json(['af', 'export', '-o', '../../ada.af']);
  json(['af', 'export', '-o', '../../ada.af'], { status: 1 });
  json(['af', 'import', '../../ada.af', '../../from-af']);
  json(['af', 'import', 'private/self.json', '../../no-af'], { status: 13 });
  json(['nonsense'], { status: 2 });
  json(['checkpoint', '--nonsense'], { status: 2 });
  json(['guard'], { status: 2 });
  writeFileSync(join(directory, 'i'), document(['invite'], b, directory));
  json(['fence', '--to', '../../i'], { status: 2 });
  json(['fence', '--to', '../../i', '--accept-new']);
  json(['revoke', '--kit', '../ada.kit', '--yes', '--reason', 'test'], { status: 12 });
  json(['revoke', '--kit', '../new.kit', '--yes', '--reason', 'test']);
  json(['fence', '--to', '../../i', '--accept-new']);
  json(['pack', '-o', '../ada.tar', '--include-secrets', '--check-medium']);
  json(['pack', '-o', 'inside.tar'], { status: 2 });
  json(['verify', '../ada.tar'], { host: b });
  json(['rehydrate', '--dry-run', 'a/ada.tar', 'b'], { host: b, cwd: directory });
  json(['rehydrate', 'a/ada.tar', 'b'], { host: b, cwd: directory });
  json(['rehydrate', 'a/ada.tar', 'c'], { host: join(directory, 'host-c'), cwd: directory, status: 12 });
  const reply = document(['promote'], b, join(directory, 'b'));
  json(['close', '-'], { input: reply });
  json(['close', '-'], { input: Buffer.from('{}'), status: 13 });
  json(['resume'], { status: 14 });
  json(['resume'], { host: b, cwd: join(directory, 'b') });
  json(['status'], { host: b, cwd: join(directory, 'b') });
});
