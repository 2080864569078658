import { readFileSync, readdirSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ strict: false, allErrors: false });
for (const file of readdirSync('schemas')) ajv.addSchema(JSON.parse(readFileSync(`schemas/${file}`, 'utf8')) as object);

/** Throws where a document is not what schemas/output.schema.json says; returns it parsed. */
export function checkedOutput(text: string): {
  readonly ok: boolean;
  readonly command: string;
  readonly data?: unknown;
  readonly error?: { readonly code: string; readonly message: string; readonly hints: readonly { readonly command: string }[] };
} {
  const value = JSON.parse(text) as never;
  const validate = ajv.getSchema('output.schema.json');
  if (validate === undefined) throw new Error('no schema');
  if (validate(value) !== true) throw new Error(`${text.slice(0, 300)}: ${JSON.stringify(validate.errors?.slice(0, 4))}`);
  return value;
}
