// Moves a small agent between two hosts on this machine, and prints each command with what it says.
import './install.js';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

await import('./build.js');
const directory = mkdtempSync(join(tmpdir(), 'perdure-demo-'));
const bin = join(directory, 'bin');
mkdirSync(bin);
for (const name of ['agent', 'perdure']) symlinkSync(fileURLToPath(new URL('../bin/run.js', import.meta.url)), join(bin, name));

let failed = false;
/** Runs a line as a host in its own home; two hosts are two host directories. */
function on(host, line, expected = 0) {
  const home = join(directory, host);
  mkdirSync(home, { recursive: true });
  process.stdout.write(`\n${host}$ ${line}\n`);
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home,
    PERDURE_HOST_DIR: join(home, '.local/state/perdure'),
    PERDURE_ROOT: undefined,
  };
  const { status, stdout } = spawnSync('sh', ['-c', `exec 2>&1; ${line}`], { cwd: home, env });
  process.stdout.write(stdout.toString().replaceAll(directory, ''));
  if (status === expected) return;
  failed = true;
  process.stdout.write(`demo: status ${status}, and ${expected} was expected\n`);
}

try {
  on('laptop', 'mkdir -p ada/body ada/private/memory ada/private/secrets stick');
  on('laptop', `echo '{"format":"perdure/self/1","version":1,"designation":"Ada"}' > ada/private/self.json`);
  on('laptop', 'echo "the tomatoes want water" > ada/private/memory/garden.md; echo "mission: keep the garden log" > ada/body/body.yaml');
  on('laptop', 'echo TOKEN=demo > ada/private/secrets/chat.env');
  on('laptop', 'agent init ada --recovery-kit stick/ada.kit');
  on('laptop', `cd ada && agent checkpoint -m 'first'`);
  on('laptop', `cd ada && agent guard -- sh -c 'echo "acting as $PERDURE_TOKEN" | cut -c1-24'`);
  on('vps', 'perdure invite > invite.json');
  on('laptop', 'cd ada && agent fence --to ../../vps/invite.json --accept-new');
  on('laptop', 'cd ada && agent guard -- echo "this is not printed"', 14);
  on('laptop', 'cd ada && agent pack --include-secrets -o ../stick/ada.tar');
  on('vps', 'perdure verify ../laptop/stick/ada.tar');
  on('vps', 'perdure rehydrate ../laptop/stick/ada.tar ada');
  on('vps', 'cd ada && perdure promote > ../reply.json');
  on('laptop', 'cd ada && agent close ../../vps/reply.json');
  on('vps', 'cd ada && perdure guard -- cat private/memory/garden.md');
  on('laptop', 'cd ada && agent guard -- echo "this is not printed"', 14);
  on('vps', 'cd ada && perdure log');
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
