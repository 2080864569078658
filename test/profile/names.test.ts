import { expect, test } from 'vitest';
import { loadProfile } from '../../src/profile/built-in.ts';

test('a line break in a name takes no file out of its class', async () => {
  const profile = await loadProfile('native');
  expect(profile.classify('private/secrets/a\nb').class).toBe('secret');
  expect(profile.classify('private/secrets/a\n/b').class).toBe('secret');
});
