import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';
import { join } from 'node:path';
import { armor } from 'age-encryption';
import * as vectors from 'cctv-age';
import { describe, expect, test } from 'vitest';
import { generateAgeKey, open, seal, type Opened } from '../../src/store/age.ts';
import { has } from '../support/tools.ts';
import { temporary } from '../support/tree.ts';

interface Vector {
  readonly fields: ReadonlyMap<string, readonly string[]>;
  readonly file: Buffer;
}

function parse(bytes: Buffer): Vector {
  const end = bytes.indexOf('\n\n');
  const fields = new Map<string, string[]>();
  for (const line of bytes.toString('latin1', 0, end).split('\n')) {
    const [name = '', ...rest] = line.split(': ');
    fields.set(name, [...(fields.get(name) ?? []), rest.join(': ')]);
  }
  const body = bytes.subarray(end + 2);
  return { fields, file: fields.get('compressed')?.[0] === 'zlib' ? inflateSync(body) : body };
}

const all = Object.entries(vectors as unknown as Record<string, unknown>).flatMap(([name, value]): (readonly [string, Vector])[] => {
  if (value instanceof Uint8Array) return [[name, parse(Buffer.from(value))]];
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([inner, bytes]): (readonly [string, Vector])[] =>
        bytes instanceof Uint8Array ? [[inner, parse(Buffer.from(bytes))]] : [],
      )
    : [];
});

describe('the CCTV vectors of age', () => {
  test('all of them are here', () => {
    expect(all.length).toBeGreaterThanOrEqual(143);
  });

  // Nothing here is written in armor; the library takes it off, so that what is within is tried all the same.
  test.each(all)('%s', async (_, { fields, file }) => {
    const expected = fields.get('expect')?.[0];
    let binary: Buffer;
    try {
      binary = fields.has('armored') ? Buffer.from(armor.decode(file.toString('latin1'))) : file;
    } catch {
      expect(expected).toBe('armor failure');
      return;
    }
    const opened = await outcome(binary, fields);
    if (expected !== 'success') expect(opened).toHaveProperty('refused');
    else if ('plaintext' in opened) expect(createHash('sha256').update(opened.plaintext).digest('hex')).toBe(fields.get('payload')?.[0]);
    else throw new Error(`it should open, and is ${opened.refused}`);
  });
});

/** Opens a vector; one with several passphrases is tried with each. */
async function outcome(file: Buffer, fields: Vector['fields']): Promise<Opened> {
  const identities = fields.get('identity') ?? [];
  let last = await open(file, identities);
  for (const passphrase of fields.get('passphrase') ?? []) if ('refused' in last) last = await open(file, identities, { passphrase });
  return last;
}

describe('age, natively', () => {
  test.each([0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 300_000])('a payload of %i bytes comes back', async (size) => {
    const { identity, recipient } = await generateAgeKey();
    const plaintext = Buffer.alloc(size, 7);
    expect(await open(await seal([plaintext], [recipient]), [identity])).toEqual({ plaintext });
  });

  test.runIf(has('age')).each([0, 65_536, 131_072, 200_000])('stock age opens %i bytes that we sealed', async (size) => {
    const directory = temporary();
    const { identity, recipient } = await generateAgeKey();
    writeFileSync(join(directory, 'key'), `${identity}\n`);
    writeFileSync(join(directory, 'file'), await seal([Buffer.alloc(size, 9)], [recipient]));
    expect(execFileSync('age', ['-d', '-i', join(directory, 'key'), join(directory, 'file')]).equals(Buffer.alloc(size, 9))).toBe(true);
  });

  test.runIf(has('age'))('we open what stock age sealed', async () => {
    const directory = temporary();
    const { identity, recipient } = await generateAgeKey();
    execFileSync('age', ['-r', recipient, '-o', join(directory, 'file')], { input: Buffer.alloc(131_072, 3) });
    expect(await open(readFileSync(join(directory, 'file')), [identity])).toEqual({ plaintext: Buffer.alloc(131_072, 3) });
  });

  test('nothing is released where the last tag does not fit', async () => {
    const { identity, recipient } = await generateAgeKey();
    const file = await seal([Buffer.alloc(200_000, 1)], [recipient]);
    file[file.length - 1] = (file.at(-1) ?? 0) ^ 1;
    expect(await open(file, [identity])).toEqual({ refused: 'damaged' });
  });

  test('another key is told from damage', async () => {
    const { recipient } = await generateAgeKey();
    expect(await open(await seal([Buffer.from('x')], [recipient]), [(await generateAgeKey()).identity])).toEqual({ refused: 'no-key' });
  });

  test('a header without end, or with more stanzas than allowed, is refused', async () => {
    const { identity, recipient } = await generateAgeKey();
    expect(await open(Buffer.alloc(100_000, 0x41), [identity])).toEqual({ refused: 'damaged' });
    const sealed = await seal([Buffer.from('x')], [recipient]);
    const stanza = /-> [^-]*?(?=--- )/.exec(sealed.toString('latin1'))?.[0] ?? '';
    const many = Buffer.from(
      sealed.toString('latin1').replace(stanza, () => stanza.repeat(65)),
      'latin1',
    );
    expect(await open(many, [identity])).toEqual({ refused: 'damaged' });
    await expect(
      seal(
        [Buffer.from('x')],
        Array.from({ length: 65 }, () => recipient),
      ),
    ).rejects.toThrow('more recipients');
  });
});
