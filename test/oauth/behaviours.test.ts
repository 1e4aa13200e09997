/** Every behaviour of docs/authorization.md has a test, in the files that its table names. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';

const tests = path.join(import.meta.dirname, '..');
const behaviours = 139;

test('behaviours 1 to 139 number test titles in exactly the files that docs/authorization.md names', async () => {
  const table = await readFile(path.join(tests, '../docs/authorization.md'), 'utf8');
  const files = (await readdir(tests, { recursive: true })).filter((name) => name.endsWith('.test.ts'));
  const titled = new Map<string, Set<number>>();
  for (const file of files) {
    const text = await readFile(path.join(tests, file), 'utf8');
    const titles = text.matchAll(/\(\s*['"`]((?:\d+, )*\d+)\. /g);
    const numbers = [...titles].flatMap(([, list = '']) => list.split(', ').map(Number));
    titled.set(file.replace('.test.ts', ''), new Set(numbers));
  }
  const rows = [...table.matchAll(/^\|\s*(\d+)\s*\|[^|]*\|([^|]*)\|$/gm)];
  expect(rows.map(([, number]) => Number(number))).toEqual(Array.from({ length: behaviours }, (_, index) => index + 1));
  for (const [, number, where = ''] of rows) {
    const named = [...where.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
    const holding = [...titled].filter(([, numbers]) => numbers.has(Number(number))).map(([file]) => file);
    expect([number, named.toSorted()]).toEqual([number, holding.toSorted()]);
  }
});
