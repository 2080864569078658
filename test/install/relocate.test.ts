import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonText } from '../../src/install/relocate/json-text.ts';
import { PathMap, newSlug, slugOf } from '../../src/install/relocate/path-map.ts';
import { rewriteFile } from '../../src/install/relocate/rewrite-file.ts';
import { temporary } from '../support/tree.ts';

const map = new PathMap([
  { from: '/home/a', to: '/srv/b' },
  { from: '/home/a/.claw', to: '/data/claw' },
]);
const rewrite = (text: string): string => map.rewrite(text, () => undefined);

describe('paths in text', () => {
  test.each([
    ['/home/a', '/srv/b'],
    ['/home/a/x', '/srv/b/x'],
    ['/home/a/.claw/y and /home/a/z', '/data/claw/y and /srv/b/z'],
    ['file:///home/a/x', 'file:///srv/b/x'],
    ['PATH=/usr/bin:/home/a/bin', 'PATH=/usr/bin:/srv/b/bin'],
    ['"/home/a",', '"/srv/b",'],
  ])('%s becomes %s', (text, expected) => {
    expect(rewrite(text)).toBe(expected);
  });

  test.each(['/home/aïs', '/home/a2', '/home/a.bak', '/home/a-b/x', '/mnt/home/a', 'x/home/a', '/home/ab', 'https://host/home/a', '/home'])(
    '%s stays',
    (text) => {
      expect(rewrite(text)).toBe(text);
    },
  );

  test('what was rewritten is not rewritten again, though the new place lies in the old one', () => {
    const inner = new PathMap([{ from: '/home/a', to: '/home/a/moved' }]);
    expect(inner.rewrite('/home/a/x', () => undefined)).toBe('/home/a/moved/x');
    expect(inner.rewrite('/home/a/moved/x', () => undefined)).toBe('/home/a/moved/x');
  });
});

describe('JSON text', () => {
  const line = (text: string, keys: readonly string[] | null): string => new JsonText(map, { keys }).line(text);

  test('only values below the wanted names change, and no other character', () => {
    expect(line('{ "cwd" : "/home/a/x",  "text":"see /home/a/x", "n": 1e3, "cwds": ["/home/a"] }', ['cwd'])).toBe(
      '{ "cwd" : "/srv/b/x",  "text":"see /home/a/x", "n": 1e3, "cwds": ["/home/a"] }',
    );
    expect(line('{"env":{"deep":[{"p":"/home/a"}]},"p":"/home/a"}', ['env'])).toBe('{"env":{"deep":[{"p":"/srv/b"}]},"p":"/home/a"}');
  });

  test('a line after one that ended below a wanted name is another document', () => {
    const json = new JsonText(map, { keys: ['cwd'] });
    expect(
      ['{"cwd":"/home/a"}\n', '{"text":"/home/a"}\n', '{"cwd":["/home/a"],"text":"/home/a"}'].map((one) => json.line(one)).join(''),
    ).toBe('{"cwd":"/srv/b"}\n{"text":"/home/a"}\n{"cwd":["/srv/b"],"text":"/home/a"}');
  });

  test('below an excepted name nothing changes', () => {
    const json = new JsonText(map, { keys: ['cwd'], except: ['world'] });
    expect(json.line('{"cwd":"/home/a","world":{"cwd":"/home/a","deep":[{"cwd":"/home/a"}]},"next":{"cwd":"/home/a"}}')).toBe(
      '{"cwd":"/srv/b","world":{"cwd":"/home/a","deep":[{"cwd":"/home/a"}]},"next":{"cwd":"/srv/b"}}',
    );
  });

  test('a torn line of JSON lines leaves nothing open, and a very long string is one token', () => {
    const json = new JsonText(map, { keys: ['cwd'], lines: true });
    expect(['{"cwd":{"x":"y\n', '{"text":"/home/a"}\n'].map((one) => json.line(one)).join('')).toBe('{"cwd":{"x":"y\n{"text":"/home/a"}\n');
    const long = 'x'.repeat(12_000_000);
    expect(json.line(`{"image":"${long}","cwd":"/home/a"}`)).toBe(`{"image":"${long}","cwd":"/srv/b"}`);
  });

  test('without names every string changes, names too', () => {
    expect(line('{"projects":{"/home/a/x":{"trust":true}}}', null)).toBe('{"projects":{"/srv/b/x":{"trust":true}}}');
  });

  test('a document of many lines keeps its nesting, and an escaped slash is one', () => {
    const json = new JsonText(map, { keys: ['cwd'] });
    expect(['{\n', '  "cwd":\n', '    "\\/home\\/a",\n', '  "other": "/home/a"\n', '}'].map((one) => json.line(one)).join('')).toBe(
      '{\n  "cwd":\n    "/srv/b",\n  "other": "/home/a"\n}',
    );
    expect(json.count).toBe(1);
  });

  test('what is parsed afterwards is what was parsed before, with each path in its place', () => {
    const path = fc.constantFrom('/home/a', '/home/a/x y', '/home/a2', 'none', '/home/a/.claw', '\\/"');
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        path,
        fc.integer(),
        fc.string(),
        fc.array(tie('any'), { maxLength: 4 }),
        fc.dictionary(path, tie('any'), { maxKeys: 4 }),
      ),
    })).any;
    const moved = (one: unknown): unknown => {
      if (typeof one === 'string') return rewrite(one);
      if (Array.isArray(one)) return one.map(moved);
      if (typeof one === 'object' && one !== null)
        return Object.fromEntries(Object.entries(one).map(([name, inner]) => [rewrite(name), moved(inner)]));
      return one;
    };
    fc.assert(
      fc.property(value, fc.boolean(), (one, isLong) => {
        const json = new JsonText(map, { keys: null });
        const text = JSON.stringify(one, null, isLong ? 2 : undefined);
        const after = text
          .split(/(?<=\n)/)
          .map((part) => json.line(part))
          .join('');
        expect(JSON.parse(after)).toEqual(moved(one));
      }),
    );
  });
});

test('a file keeps mode, time, bytes that are no text, and a last line without an end', () => {
  const path = join(temporary(), 'log');
  writeFileSync(path, Buffer.concat([Buffer.from('/home/a/x\n'), Buffer.from([0xff, 0xfe]), Buffer.from(' /home/a\r\nlast /home/a')]), {
    mode: 0o640,
  });
  utimesSync(path, 1000, 2000);
  expect(rewriteFile(path, { as: 'text' }, map)).toBe(2);
  expect(readFileSync(path, 'latin1')).toBe('/srv/b/x\n\xff\xfe /home/a\r\nlast /srv/b');
  const { mode, mtimeMs } = statSync(path);
  expect([mode, Math.floor(mtimeMs)]).toEqual([0o100640, 2_000_000]);
});

describe('a name made of a path', () => {
  test('moves by the path that its transcripts name, since it may stand for several', () => {
    expect(newSlug('-home-a-b-c', { of: '/home/a/b-c', map })).toBe('-srv-b-b-c');
    expect(newSlug('-home-a-b-c', { of: '/home/a-b/c', map })).toBe(null);
    expect(newSlug('-home-a-b-c', { of: null, map })).toBe('-srv-b-b-c');
    expect(newSlug('-home-ab', { of: null, map })).toBe(null);
    expect(slugOf('/home/a/.x_y')).toBe('-home-a--x-y');
  });
});
