import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exportSigningKey, generateSigningKey, importSigningKey, parsePublicKey } from '../../src/core/ssh/key.ts';
import { signText, verifyText } from '../../src/core/ssh/signature.ts';
import { has } from '../support/tools.ts';
import { temporary } from '../support/tree.ts';

const namespace = 'perdure-ledger@v1';

test.runIf(has('ssh-keygen'))('a private key is one that ssh-keygen reads, and comes back', () => {
  const directory = temporary();
  const key = generateSigningKey();
  const path = join(directory, 'key');
  writeFileSync(path, exportSigningKey(key, 'a comment'), { mode: 0o600 });
  expect(execFileSync('ssh-keygen', ['-y', '-f', path]).toString().trim()).toBe(`${key.publicKey} a comment`);
  expect(importSigningKey(readFileSync(path, 'utf8'))?.publicKey).toBe(key.publicKey);
});

test.runIf(has('ssh-keygen'))('ssh-keygen verifies what we sign, and refuses an altered text', () => {
  const directory = temporary();
  const key = generateSigningKey();
  const blob = signText('hello', { key, namespace });
  writeFileSync(join(directory, 'sig'), `-----BEGIN SSH SIGNATURE-----\n${blob.replace(/.{70}/g, '$&\n')}\n-----END SSH SIGNATURE-----\n`);
  writeFileSync(join(directory, 'signers'), `x ${key.publicKey}\n`);
  const verify = (text: string): number | null =>
    spawnSync('ssh-keygen', ['-Y', 'verify', '-f', join(directory, 'signers'), '-I', 'x', '-n', namespace, '-s', join(directory, 'sig')], {
      input: text,
    }).status;
  expect(verify('hello')).toBe(0);
  expect(verify('hellO')).not.toBe(0);
});

test.runIf(has('ssh-keygen'))('we verify what ssh-keygen signs', () => {
  const directory = temporary();
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, 'key')]);
  writeFileSync(join(directory, 'text'), 'hello');
  execFileSync('ssh-keygen', ['-q', '-Y', 'sign', '-f', join(directory, 'key'), '-n', namespace, join(directory, 'text')], {
    stdio: 'ignore',
  });
  const signature = readFileSync(join(directory, 'text.sig'), 'utf8').replace(/-----.*-----|\s/g, '');
  const key = parsePublicKey(readFileSync(join(directory, 'key.pub'), 'utf8'));
  if (key === null) throw new Error('no key');
  expect(verifyText('hello', { key, namespace, signature })).toBe(true);
  expect(verifyText('hello', { key, namespace: 'other', signature })).toBe(false);
});

test('every flipped bit of a signature is refused', () => {
  const key = generateSigningKey();
  const signature = signText('hello', { key, namespace });
  const bytes = Buffer.from(signature, 'base64');
  for (let at = 0; at < bytes.length; at++) {
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    expect(verifyText('hello', { key: key.publicKey, namespace, signature: flipped.toString('base64') })).toBe(false);
  }
});

test('a signature in another spelling of base64 is refused', () => {
  const key = generateSigningKey();
  const signature = signText('hello', { key, namespace });
  expect(verifyText('hello', { key: key.publicKey, namespace, signature: `${signature}\n` })).toBe(false);
});
