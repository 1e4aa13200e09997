/** Compares the policies with docs/visibility.md: what each caller sees, changes, removes and adds, for each record. */

import { beforeAll, describe, expect, test } from 'vitest';
import { readExpectations, type Expectation } from './expectations.ts';
import { callers } from './scene.ts';
import { useStage } from './staged.ts';
import { addFunctionRows, functionQueries } from './functions.ts';
import { measure } from './visibility.ts';

const page = new URL('../../docs/visibility.md', import.meta.url);
const expected = readExpectations(page);

const stage = useStage();
beforeAll(() => addFunctionRows(stage()));

test('docs/visibility.md covers every caller and every table that people can see', async () => {
  const { rows } = await stage().owner.query(`
    select c.relname from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') order by 1`);
  const spokenOf = new Set(expected.records.map((expectation) => expectation.table));
  const internal = new Set(['idempotency_keys']);
  expect(
    rows.map((row) => row.relname as string).filter((table) => !spokenOf.has(table) && !internal.has(table)),
  ).toEqual([]);
  for (const part of [expected.records, expected.additions, expected.ofFunctions])
    expect([...new Set(part.map((expectation) => expectation.caller))]).toEqual([...callers]);
  expect([...new Set(expected.ofFunctions.map(({ record }) => record))]).toEqual(Object.keys(functionQueries));
});

const { records, additions, ofFunctions: byFunctions } = expected;
for (const [part, cells] of Object.entries({ records, additions, functions: byFunctions })) {
  describe.each(callers)(`${part}: %s`, (caller) => {
    const own = cells.filter((cell) => cell.caller === caller);
    let measured: string[][];
    beforeAll(async () => {
      measured = await measure(stage(), caller, own);
    });
    test.each(own.map((cell, index) => [title(cell), cell, index] as const))('%s', (_title, { may }, index) => {
      expect(measured[index]).toEqual(may);
    });
  });
}

function title({ table, record }: Expectation): string {
  return table ? `${table}: ${record}` : record;
}
