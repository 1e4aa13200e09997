/** The table of docs/tools.md that says which test shows what names only tests that exist. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const [, section = ''] = read('../../docs/tools.md').split('## What shows it\n');
const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| ([^|]+?) +\| (.*`.*?) *\|$/gm);
const named = [...rows].map(([, what = '', where = '']) => ({
  what,
  tests: [...where.matchAll(/`([^`]+)`: "([^"]+)"/g)].map(([, file = '', title = '']) => ({ file, title })),
}));

test('every row of the table in docs/tools.md names a test', () => {
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ tests }) => tests.length === 0)).toEqual([]);
});

test.each(named)('$what', ({ tests }) => {
  for (const { file, title } of tests) {
    const titles = [...read(`../${file}.test.ts`).matchAll(/\(\s*(['"`])(.+?)\1,\s/g)].map(([, , words]) => words);
    expect(
      titles.filter((words) => words?.includes(title)),
      `${file}: ${title}`,
    ).toHaveLength(1);
  }
});
