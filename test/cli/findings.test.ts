import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { topicPage } from '../../src/cli/topics.ts';

test('every finding and every error code has a page', () => {
  const codes = new Set<string>();
  for (const name of readdirSync('src', { recursive: true }).map(String)) {
    if (!name.endsWith('.ts')) continue;
    const text = readFileSync(join('src', name), 'utf8');
    for (const pattern of [
      /report\('([A-Z_]+)'/g,
      /code: '([A-Z_]+)'/g,
      /AgentError\(\s*'([A-Z_]+)'/g,
      /\? '([A-Z]+_[A-Z_]+)' : '([A-Z]+_[A-Z_]+)'/g,
    ])
      for (const [, ...found] of text.matchAll(pattern)) for (const code of found.filter(Boolean)) codes.add(code);
  }
  expect(codes.size).toBeGreaterThan(60);
  const systems = new Set(['ENOENT']);
  expect([...codes].filter((code) => !systems.has(code) && topicPage(code) === null)).toEqual([]);
});
