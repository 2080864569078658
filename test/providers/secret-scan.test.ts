import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { openSecretScan, type SecretScan } from '../../src/providers/secret-scan.ts';

const scan = await openSecretScan();

/** Joined at run time, so that no scanner takes this file for a leak. */
const join = (...parts: readonly string[]): string => parts.join('');
const ALNUM = 'Zq7Wd2Kx9Lm4Rt6Yb1Vc8Nh3Jg5Fs0PaUe';
const some = (length: number): string => ALNUM.repeat(Math.ceil(length / ALNUM.length)).slice(0, length);
const hex = (length: number): string => '7f3a9c1e5b8d2046'.repeat(Math.ceil(length / 16)).slice(0, length);
const letters = (length: number): string => 'QwErTyUiOpAsDfGh'.repeat(Math.ceil(length / 16)).slice(0, length);
const GITHUB = join('gh', 'p_', some(36));
const PEM = join(
  '-----BEGIN ',
  'PRIVATE KEY-----\n',
  Array.from({ length: 16 }, (_, at) => join(at === 0 ? 'MI' : '', some(64)).slice(0, 64)).join('\n'),
  '\n-----END ',
  'PRIVATE KEY-----\n',
);

/** Each a rule and a canary in its shape. */
const CANARIES: readonly (readonly [string, string])[] = [
  ['aws', join('AK', 'IA', 'Q7ZK'.repeat(4))],
  ['aws', join('aws_secret_', 'access_key = ', some(40))],
  ['anthropic', join('sk-', 'ant-api03-', some(93), 'AA')],
  ['openai', join('sk-', some(20), 'T3Blbk', 'FJ', some(20))],
  ['github', GITHUB],
  ['github', join('github', '_pat_', some(82))],
  ['gitlab', join('gl', 'pat-', some(20))],
  ['npm', join('np', 'm_', some(36))],
  ['slack', join('xo', 'xb-', '123456789012-', some(24))],
  ['slack', join('https://hooks.', 'slack.com/services/T', some(8), '/B', some(8), '/', some(24))],
  ['stripe', join('sk_', 'live_', some(24))],
  ['sendgrid', join('S', 'G.', some(22), '.', some(43))],
  ['huggingface', join('h', 'f_', letters(34))],
  ['groq', join('gs', 'k_', some(52))],
  ['notion', join('nt', 'n_', '12345678901', some(35))],
  ['linear', join('lin', '_api_', some(40))],
  ['shopify', join('shp', 'at_', hex(32))],
  ['docker', join('dckr', '_pat_', some(27))],
  ['databricks', join('da', 'pi', hex(32))],
  ['hashicorp-vault', join('hv', 's.', some(95))],
  ['tailscale', join('ts', 'key-auth-', some(12), '-', some(24))],
  ['basicauth', join('https://', 'ada:', some(16), '@example.com/')],
  ['database-connection-string', join('postgres://', 'ada:', some(16), '@db.internal:5432/ada')],
  ['privatekey', PEM],
];

/** Scans bytes in parts of a size. */
function scanned(bytes: Buffer | string, { path = 'body/notes.md', part = 1 << 16 } = {}): Promise<SecretScan> {
  const all = Buffer.from(bytes);
  return scan({
    path,
    read: async function* () {
      for (let at = 0; at < all.length; at += part) yield await Promise.resolve(all.subarray(at, at + part));
    },
  });
}

async function found(bytes: Buffer | string, options: { readonly path?: string; readonly part?: number } = {}): Promise<readonly string[]> {
  const { findings } = await scanned(bytes, options);
  return findings.map(({ rule, line }) => `${rule} ${String(line)}`);
}

describe('a scan for secrets', () => {
  test.each(CANARIES)('knows a secret of %s by its shape, and its line', async (rule, secret) => {
    expect(await found(`one\ntwo\nkey: ${secret}\n`)).toEqual([`${rule} 3`]);
  });

  test('says nothing of what it found but rule and line', async () => {
    expect(JSON.stringify(await scanned(CANARIES.map(([, secret]) => secret).join('\n')))).not.toMatch(
      new RegExp(`${some(8)}|${hex(8)}|${letters(8)}`),
    );
  });

  test('prose, digests, ids and the keys of manuals are no secrets', async () => {
    const text = ['# Ada', hex(64), 'c0ffee00-1234-4abc-8def-0123456789ab', join('AK', 'IAIOSFODNN7', 'EXAMPLE'), 'token: ${TOKEN}'];
    expect(await found(`${text.join('\n')}\naccount = 123456789012\n`)).toEqual([]);
  });

  test('a comment in the file does not switch it off', async () => {
    expect(await found(`<!-- secretlint-disable -->\n${GITHUB}\n`)).toEqual(['github 2']);
    expect(await found(`# secretlint-disable-next-line\n${GITHUB}\n`)).toEqual(['github 2']);
  });

  test('a secret over the edge of parts and windows is found once, with its line', async () => {
    const lines = 'a line of thirty-two characters\n'.repeat(33_000);
    for (const part of [1000, 65_536, 1 << 22])
      expect(await found(`${lines}${GITHUB}\n${lines}${PEM}${lines}`, { part })).toEqual(['github 33001', 'privatekey 66002']);
  });

  test('every place in a file is looked at, whatever stands before', async () => {
    for (const before of [(1 << 20) - 20, (1 << 20) - (1 << 16) - 20, (1 << 21) - 20])
      expect(await found(`${' '.repeat(before)}${GITHUB} `, { part: 4096 })).toEqual(['github 1']);
  });

  test('binary files, UTF-16 and a mark at the beginning are no hiding place', async () => {
    const noise = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 197) % 256));
    expect(await found(Buffer.concat([noise, Buffer.from(` ${GITHUB} `), noise]))).toHaveLength(1);
    expect(await found(Buffer.from(`\ufeffa\n${GITHUB}\n`, 'utf16le'))).toEqual(['github 2']);
    expect(await found(Buffer.from(`\ufeffa\n${GITHUB}\n`, 'utf16le').swap16(), { part: 7 })).toEqual(['github 2']);
    expect(await found(`\ufeffa\n${GITHUB}\n`)).toEqual(['github 2']);
  });

  test('an old copy of a file is taken for what it was', async () => {
    const token = join('//registry.example/:_auth', 'Token=', some(20), '\n');
    for (const name of ['.npmrc', '.npmrc.bak', '.npmrc~', '.npmrc.old.2', '.npmrc.bak.gz'])
      expect(await found(token, { path: `body/${name}` }), name).toEqual(['npm 1']);
  });

  test('what gzip and loose objects of Git hold is looked into', async () => {
    expect(await scanned(gzipSync(`a\n${GITHUB}\n`), { path: 'body/old.tar.gz' })).toMatchObject({
      findings: [{ rule: 'github', line: 2 }],
      closed: null,
    });
    const object = `body/.git/objects/${hex(2)}/${hex(38)}`;
    expect(await found(deflateSync(`blob 41\0${GITHUB}\n`), { path: object })).toEqual(['github 1']);
  });

  test('archives that are not looked into are named, and their bytes looked at as they are', async () => {
    const zip = Buffer.from(`PK\x03\x04 stored ${GITHUB} `, 'latin1');
    expect(await scanned(zip)).toEqual({ findings: [{ rule: 'github', line: 1 }], closed: 'zip' });
    expect((await scanned(Buffer.from('PACK\0\0\0\x02', 'latin1'))).closed).toBe('pack of Git');
    expect((await scanned('0', { path: 'body/ada.p12.bak' })).closed).toBe('PKCS #12 key store');
    const cut = gzipSync(Buffer.from(`${GITHUB}\n`.repeat(100))).subarray(0, 60);
    expect((await scanned(cut)).closed).toBe('damaged gzip');
    expect(await scanned('')).toEqual({ findings: [], closed: null });
  });

  test('a file full of secrets ends early, and what cannot be read is an error', async () => {
    const { findings } = await scanned(`${GITHUB}\n`.repeat(40_000));
    expect(findings).toHaveLength(1000);
    const broken = { path: 'x.gz', read: () => brokenAfter(gzipSync('x'.repeat(100)).subarray(0, 20)) };
    await expect(scan(broken)).rejects.toThrow('gone');
  });
});

async function* brokenAfter(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
  throw new Error('gone');
}
