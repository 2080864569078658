// Makes the standalone validators of schemas/ (no schema is compiled at run time, and ajv is not loaded).
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';
import standalone from 'ajv/dist/standalone/index.js';

const here = new URL('..', import.meta.url);
const names = readdirSync(new URL('schemas/', here))
  .filter((file) => file.endsWith('.schema.json'))
  .sort();
// Small code starts fast: references are calls, and no messages are made.
const ajv = new Ajv2020.default({
  code: { source: true, esm: true },
  inlineRefs: false,
  messages: false,
  strict: true,
  strictTypes: false,
  strictRequired: false,
});
const exported = {};
for (const file of names) {
  // For the tests and for users; the program does not check its own output.
  if (file === 'output.schema.json') continue;
  const schema = JSON.parse(readFileSync(new URL(`schemas/${file}`, here), 'utf8'));
  ajv.addSchema(schema);
  const name = file.replace('.schema.json', '').replace(/-(.)/g, (_, letter) => letter.toUpperCase());
  if (name !== 'common') exported[`${name}Valid`] = schema.$id;
}
const code = standalone.default(ajv, exported);
if (/\brequire\(/.test(code)) throw new Error('a validator needs a run-time module of ajv; avoid that keyword in the schema');
const out = new URL('src/core/generated/', here);
const script = readFileSync(new URL('docs/format/verify.sh', here), 'utf8');
mkdirSync(out, { recursive: true });
writeFileSync(new URL('validators.js', out), code);
writeFileSync(
  new URL('validators.d.ts', out),
  Object.keys(exported)
    .map(
      (name) =>
        `export declare const ${name}: ((value: unknown) => boolean) & { readonly errors?: readonly { readonly instancePath: string; readonly keyword: string; readonly params?: Readonly<Record<string, unknown>> }[] | null };\n`,
    )
    .join(''),
);
writeFileSync(new URL('verify-script.js', out), `export const VERIFY_SCRIPT = ${JSON.stringify(script)};\n`);
writeFileSync(new URL('verify-script.d.ts', out), 'export declare const VERIFY_SCRIPT: string;\n');
