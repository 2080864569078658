// What is measured: each work with the command of each contender, and the ratio that we want to stay under. `before` brings
// everybody into the same position and is not timed.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bytesBelow, measure } from './measure.js';

const program = fileURLToPath(new URL('../bin/run.js', import.meta.url));
/** How our own program is called in the tables. */
export const OURS = 'perdure';
const PIPE = 'tar, zstd, age';

/** Where everything of a run lies, and the environment of the commands. */
export function places(directory) {
  const at = (name) => join(directory, name);
  return {
    directory,
    root: at('ada'),
    archive: at('ada.tar.zst.age'),
    bundle: at('bundle.tar'),
    sealed: at('sealed'),
    copy: at('copy.tar'),
    out: { perdure: at('out-perdure'), restic: at('out-restic'), pipe: at('out-pipe') },
    stores: { perdure: at('ada/.perdure'), restic: at('restic'), borg: at('borg') },
    env: {
      ...process.env,
      NODE: process.execPath,
      PROGRAM: program,
      PERDURE_HOST_DIR: at('host'),
      OTHER_HOST: at('other-host'),
      NO_HOST: at('no-host'),
      RESTIC_REPOSITORY: at('restic'),
      RESTIC_PASSWORD: 'bench',
      RESTIC_CACHE_DIR: at('restic-cache'),
      BORG_REPO: at('borg'),
      BORG_PASSPHRASE: 'bench',
      BORG_BASE_DIR: at('borg-base'),
      AGE_KEY: at('age.key'),
    },
  };
}

const agent = '"$NODE" "$PROGRAM"';
const restic = 'restic backup --quiet --exclude .perdure ada';
const borg = (name) => `borg create --exclude ada/.perdure ::${name}-{now:%s%f} ada`;
const pipe = 'tar c --exclude=.perdure ada | zstd -3 -q | age -r "$(age-keygen -y "$AGE_KEY")" >ada.tar.zst.age';

/** Fresh stores for everybody. */
export function freshStores(place, contenders) {
  const { directory, env, stores } = place;
  for (const path of [
    ...Object.values(stores),
    ...['host', 'other-host', 'restic-cache', 'borg-base', 'age.key', 'no-host'].map((one) => join(directory, one)),
  ])
    rmSync(path, { recursive: true, force: true });
  const run = (line) => measure(line, { cwd: directory, env });
  run(`${agent} -C ada init --no-recovery`);
  if (contenders.includes('restic')) run('restic init');
  if (contenders.includes('borg')) run('borg init -e repokey-blake2');
  if (contenders.includes('age')) run('age-keygen -o "$AGE_KEY"');
}

/** The works of one round, in order. Each changes the tree or the stores for the next. */
export const WORKS = [
  {
    id: 'first',
    name: 'first checkpoint',
    lines: { [OURS]: `${agent} -C ada checkpoint`, restic, borg: borg('first'), [PIPE]: pipe },
    targets: { restic: 0.33, [PIPE]: 1.1 },
    stored: { restic: 1.05 },
  },
  {
    id: 'unchanged',
    name: 'unchanged',
    lines: { [OURS]: `${agent} -C ada checkpoint`, restic, borg: borg('unchanged') },
    targets: { restic: 0.25, borg: 0.25 },
  },
  {
    id: 'one',
    name: 'one file changed',
    before: (tree) => tree.one(),
    lines: { [OURS]: `${agent} -C ada checkpoint`, restic, borg: borg('one') },
    targets: { restic: 0.25, borg: 0.25 },
  },
  {
    id: 'some',
    name: 'logs and databases changed',
    before: (tree) => tree.some(),
    lines: { [OURS]: `${agent} -C ada checkpoint`, restic, borg: borg('some') },
    targets: { restic: 0.4 },
    stored: { restic: 0.5 },
  },
  {
    id: 'pack',
    name: 'pack from a checkpoint',
    before: (_, { directory, env, copy, bundle }) => {
      for (const path of [copy, bundle]) rmSync(path, { force: true });
      measure(
        `PERDURE_HOST_DIR="$OTHER_HOST" ${agent} invite >invite && ${agent} -C ada fence --to ../invite --accept-new >/dev/null && ${agent} -C ada pack -o ../bundle.tar`,
        { cwd: directory, env, statuses: [0, 3] },
      );
      rmSync(join(directory, 'packed.tar'), { force: true });
    },
    lines: {
      [OURS]: `${agent} -C ada pack -o ../packed.tar`,
      cp: 'cp bundle.tar copy.tar',
      'cp and sync': 'cp bundle.tar copied.tar && sync -d copied.tar',
    },
    between: ({ directory }) => {
      for (const name of ['packed.tar', 'copy.tar', 'copied.tar']) rmSync(join(directory, name), { force: true });
    },
    targets: { cp: 1.5 },
  },
  {
    id: 'sealed',
    name: 'verify a bundle without a key',
    before: (_, { directory, env, sealed }) => {
      rmSync(sealed, { recursive: true, force: true });
      mkdirSync(sealed);
      measure('tar x -C sealed -f bundle.tar && cd sealed && find . -type f -print0 | xargs -0 sha256sum >../sums', {
        cwd: directory,
        env,
      });
    },
    lines: { [OURS]: `PERDURE_HOST_DIR="$NO_HOST" ${agent} verify sealed`, 'sha256sum -c': 'cd sealed && sha256sum --quiet -c ../sums' },
    targets: { 'sha256sum -c': 0.5 },
  },
  {
    id: 'opened',
    name: 'verify, opened',
    lines: { [OURS]: `PERDURE_HOST_DIR="$OTHER_HOST" ${agent} verify bundle.tar`, restic: 'restic check --quiet --read-data' },
    targets: { restic: 0.8 },
  },
  {
    id: 'rehydrate',
    name: 'rehydrate, durable',
    before: (_, { out }) => {
      for (const path of Object.values(out)) rmSync(path, { recursive: true, force: true });
      mkdirSync(out.pipe);
    },
    lines: {
      [OURS]: `PERDURE_HOST_DIR="$OTHER_HOST" ${agent} rehydrate bundle.tar out-perdure`,
      restic: 'restic restore --quiet latest --target out-restic',
      [PIPE]: 'age -d -i "$AGE_KEY" ada.tar.zst.age | zstd -d -q | tar x -C out-pipe',
    },
    targets: { restic: 0.9, [PIPE]: 1.1 },
  },
  {
    id: 'start',
    name: 'start',
    lines: { [OURS]: `${agent} --version`, restic: 'restic version', borg: 'borg --version', 'bare node': '"$NODE" -e 0' },
    targets: {},
  },
];

/** Bytes in the stores of those that keep several states: without caches, as those of restic and borg lie elsewhere. */
export function storeBytes({ stores }) {
  const bytes = Object.fromEntries(
    Object.entries(stores)
      .filter(([, path]) => existsSync(path))
      .map(([name, path]) => [name, bytesBelow(path)]),
  );
  const caches = bytesBelow(join(stores[OURS], 'local'));
  return { ...bytes, [OURS]: bytes[OURS] - caches, [`${OURS}, caches`]: caches };
}
