/** Every behaviour of the authorization server has a test, and docs/authorization.md says where. */

import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';

test('behaviours 1 to 116 each begin the title of a test in the files that the table names', async () => {
  const folder = import.meta.dirname;
  const table = await readFile(new URL('../../docs/authorization.md', import.meta.url), 'utf8');
  const files = (await readdir(folder)).filter((name) => name.endsWith('.test.ts'));
  const titled = new Map<string, Set<number>>();
  for (const file of files) {
    const text = await readFile(`${folder}/${file}`, 'utf8');
    const numbers = [...text.matchAll(/['"]((?:\d+, )*\d+)\. /g)].flatMap(([, list = '']) =>
      list.split(', ').map(Number),
    );
    titled.set(file.replace('.test.ts', ''), new Set(numbers));
  }
  const rows = [...table.matchAll(/^\|\s*(\d+)\s*\|[^|]*\|([^|]*)\|$/gm)];
  expect(rows.map(([, number]) => Number(number))).toEqual(Array.from({ length: 116 }, (_, index) => index + 1));
  for (const [, number, where = ''] of rows) {
    const named = [...where.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
    const holding = [...titled].filter(([, numbers]) => numbers.has(Number(number))).map(([file]) => file);
    expect([number, named.toSorted()]).toEqual([number, holding.toSorted()]);
  }
});
