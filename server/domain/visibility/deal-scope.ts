/** The deal that a transaction is about: sent to the database on entering, it keeps the policies from looking at the caller's other deals. */

import { row, type Statement } from '../../database/statement.ts';

/** Tables whose records belong to a deal, and deals themselves. */
export const dealTables = [
  'deals',
  'participants',
  'ndas',
  'offers',
  'closing_conditions',
  'questions',
  'documents',
  'production_documents',
  'accounting_snapshots',
  'qoe_checklist',
  'normalizations',
  'findings',
  'financing_sources',
] as const;

/** A deal, or the deal of a record. */
export interface DealScope {
  readonly table: (typeof dealTables)[number];
  readonly id: string;
}

/** One deal. */
export const withinDeal = (id: string): DealScope => ({ table: 'deals', id });

/** The deal of a document. */
export const withinDocument = (source: 'simple' | 'production', id: string): DealScope => ({
  table: source === 'simple' ? 'documents' : 'production_documents',
  id,
});

/** The deal of a record, or null: records of this table belong to none. */
export const withinDealOf = (table: string, id: string): DealScope | null => {
  const known = dealTables.find((one) => one === table);
  return known === undefined ? null : { table: known, id };
};

const among = row<unknown, [deals: readonly string[]]>(
  'among_deals',
  `select set_config('dealkeep.among_deals', $1::uuid[]::text, true)`,
);

/** For the rest of the transaction, the key that has entered reaches of its deals these at the most: nothing of others is looked at (183_deals_that_are_asked_for.sql). */
export const amongDeals = (ids: readonly string[]): Statement<unknown> => among(ids);
