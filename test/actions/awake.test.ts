import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { afterMove } from '../../src/actions/after-move.ts';
import { allowProfile } from '../../src/actions/hooks.ts';
import { init } from '../../src/actions/init.ts';
import { rehome } from '../../src/actions/rehome.ts';
import type { Ports } from '../../src/actions/session/ports.ts';
import type { CheckLine } from '../../src/actions/state/check-lines.ts';
import { testHost } from '../support/host.ts';
import { buildClaudeCode } from '../support/layouts/claude-code.ts';
import { buildCodex } from '../support/layouts/codex.ts';
import { buildOpenclaw } from '../support/layouts/openclaw.ts';
import { NOTHING, moved } from '../support/moved.ts';
import { has } from '../support/tools.ts';
import { temporary } from '../support/tree.ts';

/** A host whose PATH begins with stand-ins of programs: shell scripts by name. */
function withPrograms(ports: Ports, programs: Readonly<Record<string, string>>, variables: Readonly<Record<string, string>> = {}): Ports {
  const bin = temporary();
  for (const [name, script] of Object.entries(programs)) writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { ...ports, environment: { PATH: `${bin}:/usr/bin:/bin`, ...variables } };
}

async function lineOf(ports: Ports, name: string, options: { readonly find?: string } = {}): Promise<CheckLine> {
  const line = (await afterMove(ports, options)).find((one) => one.name === name);
  if (line === undefined) throw new Error(`no line '${name}'`);
  return line;
}

const says = (version: string): string => `[ "$1" = --version ] && echo "Program ${version} (abc)"`;

describe.runIf(has('sqlite3'))('an agent after a move', () => {
  test('is told which program it needs, and of which version', async () => {
    const { here } = await moved(buildOpenclaw);
    await rehome(here, NOTHING);
    const needs = async (programs: Readonly<Record<string, string>>): Promise<CheckLine> => lineOf(withPrograms(here, programs), 'needs');
    expect(await needs({})).toMatchObject({ ok: false, text: "program 'openclaw': not on PATH" });
    // Nothing is run before this host allows it.
    expect(await needs({ openclaw: 'exit 9' })).toMatchObject({ ok: true, text: expect.stringContaining('not asked') as string });
    await allowProfile(here);
    expect(await needs({ openclaw: says('2026.8.9') })).toMatchObject({ ok: false, text: expect.stringContaining('2026.8.9') as string });
    expect((await needs({ openclaw: says('2026.8.9') })).text).toContain('2026.8.10');
    for (const version of ['2026.8.10', '2026.8.10.1', '2026.10.0', '2027.1'])
      expect(await needs({ openclaw: says(version) })).toMatchObject({ ok: true });
    expect(await needs({ openclaw: 'echo what?' })).toMatchObject({ ok: false });
  });

  test('is told of variables that its configuration names and nothing here has', async () => {
    const { here, root } = await moved(buildOpenclaw);
    await rehome(here, NOTHING);
    const openclaw = { openclaw: says('2027.1') };
    expect((await lineOf(withPrograms(here, openclaw), 'needs')).text).not.toContain('MODEL_KEY');
    appendFileSync(join(root, 'openclaw.json'), '// $${ESCAPED} ${SET_TO_NOTHING}\n');
    appendFileSync(join(root, '.env'), 'SET_TO_NOTHING=\nOTHER=1\n');
    const named = (await lineOf(withPrograms(here, openclaw), 'needs')).text;
    expect([named.includes('ESCAPED'), named.includes('SET_TO_NOTHING')]).toEqual([false, true]);
    writeFileSync(join(root, 'openclaw.json'), readFileSync(join(root, 'openclaw.json'), 'utf8').replace(/\/\/ \$\$.*\n/, ''));
    rmSync(join(root, '.env'));
    expect(await lineOf(withPrograms(here, openclaw), 'needs')).toMatchObject({
      ok: false,
      text: expect.stringContaining("variable 'MODEL_KEY'") as string,
    });
    const given = await lineOf(withPrograms(here, openclaw, { MODEL_KEY: 'canary' }), 'needs');
    expect([given.ok, given.text]).toEqual([true, expect.not.stringContaining('MODEL_KEY')]);
  });

  test('is told of a login that is not there, by its own program', async () => {
    const { here, arrived } = await moved(buildCodex);
    // Without running anything a rehydrate says what is not there.
    expect(arrived.needs).toContainEqual(expect.objectContaining({ kind: 'variable', name: 'OWN_KEY', met: false }));
    expect(arrived.needs.map(({ kind }) => kind)).not.toContain('login');
    await rehome(here, NOTHING);
    await allowProfile(here);
    const codex = (status: number): string => `${says('0.150.0')} || { echo "$CODEX_HOME $*: Not logged in"; exit ${String(status)}; }`;
    const needs = async (status: number): Promise<CheckLine> =>
      lineOf(withPrograms(here, { codex: codex(status) }, { OWN_KEY: 'canary' }), 'needs');
    expect(await needs(1)).toMatchObject({ ok: false, text: expect.stringContaining('. login status: Not logged in') as string });
    expect(await needs(0)).toMatchObject({ ok: true });
    const unnamed = await lineOf(withPrograms(here, { codex: codex(0) }), 'needs');
    expect(unnamed.text).toContain("variable 'OWN_KEY'");
  });

  test('has its credential in a file, in the keychain or in a variable', async () => {
    const { here, root, directory } = await moved(buildClaudeCode);
    await rehome(here, NOTHING);
    const claude = { claude: says('2.1.1') };
    expect(await lineOf(withPrograms(here, claude), 'needs')).toMatchObject({ ok: true });
    rmSync(join(root, '.credentials.json'));
    expect((await lineOf(withPrograms(here, claude), 'needs')).text).toContain("keychain item 'Claude Code-credentials'");
    expect(await lineOf(withPrograms(here, claude, { ANTHROPIC_API_KEY: 'canary' }), 'needs')).toMatchObject({ ok: true });
    const security = { security: '[ "$1 $2 $3" = "find-generic-password -s Claude Code-credentials" ]' };
    expect(await lineOf(withPrograms(here, { ...claude, ...security }), 'needs')).toMatchObject({ ok: true });
    // What lies in the keychain is named, and said not to be captured.
    const other = join(directory, 'c', '.claude');
    mkdirSync(other, { recursive: true });
    buildClaudeCode(other, { era: 'new', home: join(directory, 'c') });
    const host = testHost(directory, 'c', { root: other });
    const { elsewhere } = await init(withPrograms(host, security), { directory: other, recovery: null });
    expect(elsewhere).toContainEqual(
      expect.objectContaining({ path: "the keychain's 'Claude Code-credentials'", class: 'secret', captured: false }),
    );
  });

  test('recalls what was planted, in text, in JSON and in a database, and says where it did not look', async () => {
    const { here, root } = await moved(buildOpenclaw);
    await rehome(here, NOTHING);
    expect(await lineOf(here, 'recalls', { find: 'no such thing' })).toMatchObject({ ok: false });
    writeFileSync(join(root, 'workspace/MEMORY.md'), 'the harbour closes at six\n');
    expect((await lineOf(here, 'recalls', { find: 'closes at six' })).text).toContain('workspace/MEMORY.md');
    writeFileSync(join(root, 'workspace/notes.json'), '{"said":"a \\"quay\\" of cr\\u00eape"}\n');
    expect((await lineOf(here, 'recalls', { find: '"quay" of crêpe' })).text).toContain('workspace/notes.json');
    const database = join(root, 'agents/main/agent/openclaw-agent.sqlite');
    const change = "CREATE TABLE planted(t TEXT); INSERT INTO planted VALUES('low tide at noon');";
    execFileSync('sqlite3', ['-init', '/dev/null', database], { input: change });
    expect(await lineOf(here, 'recalls', { find: 'low tide at noon' })).toMatchObject({
      ok: true,
      text: "'low tide at noon' is in agents/main/agent/openclaw-agent.sqlite (planted.t)",
    });
    // However long a file is, and wherever in it the text stands.
    const part = 4 * 1024 * 1024;
    for (const before of [part - 9, 2 * part - 1, 5 * part]) {
      writeFileSync(join(root, 'workspace/long.md'), `${'x'.repeat(before)} high tide ${'y'.repeat(part)}`);
      expect((await lineOf(here, 'recalls', { find: 'high tide' })).text).toContain('workspace/long.md');
    }
    // Not what is found in a credential.
    writeFileSync(join(root, '.env'), 'TOKEN=canary-of-recall\n');
    expect(await lineOf(here, 'recalls', { find: 'canary-of-recall' })).toMatchObject({ ok: false });
  });

  test('has its sessions counted, and a lost one told', async () => {
    for (const [build, count, path] of [
      [buildCodex, 3, 'sessions/2026/08/01'],
      [buildClaudeCode, 1, 'projects'],
    ] as const) {
      const { here, root } = await moved(build);
      await rehome(here, NOTHING);
      expect(await lineOf(here, 'sessions')).toMatchObject({ ok: true, text: `${String(count)} that were recorded are here` });
      rmSync(join(root, path), { recursive: true });
      expect(await lineOf(here, 'sessions')).toMatchObject({ ok: false, text: expect.stringContaining('are gone') as string });
    }
  });

  test('is looked at by its own program, databases as copies that are whole', async () => {
    const { here, root } = await moved(buildOpenclaw);
    await rehome(here, NOTHING);
    await allowProfile(here);
    const log = join(temporary(), 'asked');
    // It refuses as the real one does: where a log lies beside, and a schema that is newer than the body.
    const script = (newest: number): string => `
      [ "$1" = --version ] && echo 2027.1 && exit
      echo "$@" >>${log}
      [ "$1" = database ] || exit 0
      for last; do :; done
      [ -e "$last-wal" ] && echo indeterminate && exit 1
      found=$(sqlite3 -init /dev/null "$last" 'PRAGMA user_version') || exit 1
      [ "$found" -le ${String(newest)} ] || { echo "incompatible found $found target ${String(newest)}"; exit 1; }`;
    const path = join(root, 'state/openclaw.sqlite');
    const before = readFileSync(path);
    expect(await lineOf(withPrograms(here, { openclaw: script(99) }), 'program')).toMatchObject({ ok: true });
    const asked = readFileSync(log, 'utf8');
    expect(asked).toMatch(/config validate\nsessions --json\ndatabase preflight \S*copy\.sqlite\n/);
    expect(asked).toMatch(/database preflight-agent --agent-id main \S*copy\.sqlite\n/);
    expect(asked).not.toContain(`${root}/state`);
    expect(await lineOf(withPrograms(here, { openclaw: script(3) }), 'program')).toMatchObject({
      ok: false,
      text: expect.stringMatching(/^'state\/openclaw\.sqlite': .*incompatible found 9 target 3$/) as string,
    });
    expect(readFileSync(path).equals(before)).toBe(true);
    const all = join(root, '.perdure/local/awake');
    expect(existsSync(all) ? readdirSync(all) : []).toEqual([]);
  });
});
