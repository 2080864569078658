// Bundles the program: one entry, a chunk for each command and each heavy library, nothing to install at run time.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import './generate.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
rmSync(new URL('../dist/', import.meta.url), { recursive: true, force: true });
const result = await build({
  entryPoints: { program: 'src/program.ts', manual: 'src/manual.ts', worker: 'src/worker.ts' },
  outdir: 'dist',
  absWorkingDir: new URL('..', import.meta.url).pathname,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  minifySyntax: true,
  minifyWhitespace: true,
  external: ['typescript', 'ts-node', 'tsx'],
  define: { 'process.env.OCLIF_TS_NODE': '"0"', PERDURE_VERSION: JSON.stringify(version) },
  banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
  chunkNames: 'chunks/[name]-[hash]',
  legalComments: 'linked',
  metafile: true,
  logLevel: 'warning',
});
if (process.argv.includes('--sizes'))
  for (const [file, { bytes }] of Object.entries(result.metafile.outputs)
    .sort((a, b) => b[1].bytes - a[1].bytes)
    .slice(0, 25))
    console.log(bytes, file);
// The manual is written by the program itself.
const { manual } = await import(new URL('../dist/manual.js', import.meta.url).href);
for (const [name, text] of await manual()) {
  const path = fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
