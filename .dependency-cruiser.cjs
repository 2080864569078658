// The arrow runs downward only; rooms on one floor do not see each other; one owner file for each npm dependency.
const floors = [
  ['core'],
  ['store', 'ledger', 'profile', 'host', 'providers', 'letta'],
  ['manifest'],
  ['capture', 'install'],
  ['actions'],
  ['cli'],
  ['commands'],
];
const owners = {
  'age-encryption': 'src/store/age\\.ts',
  tar: 'src/store/tar\\.ts',
  'proper-lockfile': 'src/host/lock\\.ts',
  'isomorphic-git': 'src/providers/git\\.ts',
  execa: 'src/providers/commands\\.ts',
  json5: 'src/providers/json5\\.ts',
  'smol-toml': 'src/providers/toml\\.ts',
  '@secretlint': 'src/providers/secret-scan\\.ts',
  chalk: 'src/cli/style\\.ts',
  '@oclif/core': 'src/cli/command\\.ts',
};
const forbidden = [
  { name: 'no-cycles', severity: 'error', from: { path: '^src' }, to: { circular: true } },
  { name: 'core-stands-on-node-alone', severity: 'error', from: { path: '^src/core' }, to: { dependencyTypes: ['npm', 'npm-dev'] } },
  { name: 'no-unresolved', severity: 'error', from: { path: '^src' }, to: { couldNotResolve: true } },
  { name: 'src-never-sees-tests', severity: 'error', from: { path: '^src' }, to: { path: '^test' } },
];
floors.forEach((rooms, floor) => {
  const above = floors.slice(floor + 1).flat();
  for (const room of rooms) {
    const beside = rooms.filter((other) => other !== room);
    const closed = [...above, ...beside];
    if (closed.length > 0)
      forbidden.push({
        name: `floor-of-${room}`,
        severity: 'error',
        from: { path: `^src/${room}/` },
        to: { path: `^src/(${closed.join('|')})/` },
      });
  }
});
for (const [dependency, owner] of Object.entries(owners)) {
  forbidden.push({
    name: `one-owner-of-${dependency}`,
    severity: 'error',
    from: { path: '^src', pathNot: `^${owner}$` },
    to: { path: `^node_modules/${dependency}/` },
  });
}
forbidden.push({
  name: 'dependencies-have-an-owner',
  severity: 'error',
  from: { path: '^src' },
  to: { dependencyTypes: ['npm', 'npm-dev'], pathNot: Object.keys(owners).map((one) => `^node_modules/${one}/`) },
});
module.exports = {
  forbidden,
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
