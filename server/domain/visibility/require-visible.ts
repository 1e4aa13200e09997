/** Checks that run before a change of a record: the caller must be able to see it. */

import { row, type Statement } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';
import { dealTables } from './deal-scope.ts';

const tables = ['brokerages', 'connected_clients', ...dealTables] as const;

const guards = new Map(
  tables.map((table) => [
    table,
    row<unknown, [id: string]>(
      `must_see_${table}`,
      table === 'deals'
        ? `select app.must_see(${seenDeal('$1')} is not null)`
        : `select app.must_see(exists (select from ${table} where id = $1))`,
    ),
  ]),
);

/** A statement that fails with `not_found`, and with it the transaction, unless the caller sees the record. */
export function requireVisible(table: (typeof tables)[number], id: string): Statement<unknown> {
  const guard = guards.get(table);
  if (!guard) throw new Error(`There is no guard for ${table}.`);
  return guard(id);
}
