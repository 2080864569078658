import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkName, fsPath, loadName, nameFromBytes, nameToBytes, showName, storeName } from '../../src/core/name.ts';

const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 }).map((one) => Buffer.from(one));

test('every name of a file system has one string, and comes back from it to the byte', () => {
  fc.assert(
    fc.property(bytes, (name) => {
      expect(nameToBytes(nameFromBytes(name)).equals(name)).toBe(true);
    }),
  );
});

test('every name survives the formats', () => {
  fc.assert(
    fc.property(bytes, (name) => {
      const text = nameFromBytes(name);
      expect(loadName(JSON.parse(JSON.stringify(storeName(text))) as ReturnType<typeof storeName>)).toBe(text);
    }),
  );
});

test('a UTF-8 name that hides as bytes is refused, so that a name is written in one way only', () => {
  expect(() => loadName({ b64: Buffer.from('note.md').toString('base64') })).toThrow('although it is UTF-8');
});

test.each(['', '.', '..', 'a/b', 'a\0b', 'x'.repeat(256)])('%j is no file name', (name) => {
  expect(() => checkName(name)).toThrow();
});

test('a path with a name of bytes is given to the system as bytes', () => {
  const name = nameFromBytes(Buffer.from([0x61, 0xff]));
  expect(fsPath('/r', `dir/${name}`)).toEqual(Buffer.from([...Buffer.from('/r/dir/a'), 0xff]));
});

test('what could move a terminal is shown and not sent', () => {
  expect(showName('a\u001b[2Jb\u202e')).toBe('a\\u001b[2Jb\\u202e');
  expect(showName(nameFromBytes(Buffer.from([0xff])))).toBe('\\xff');
  expect(showName('Äpfel 🍎')).toBe('Äpfel 🍎');
});
