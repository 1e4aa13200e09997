/**
 * The deal that a transaction is about: sent to the database on entering, it keeps the policies from examining the
 * caller's other deals.
 */

import { row, type Statement } from '../../database/statement.ts';

/** Tables whose records belong to a deal, and the table of deals itself. */
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

/** The scope of a deal. */
export const withinDeal = (id: string): DealScope => ({ table: 'deals', id });

/** The scope of the deal of a document. */
export const withinDocument = (source: 'simple' | 'production', id: string): DealScope => ({
  table: source === 'simple' ? 'documents' : 'production_documents',
  id,
});

/** The scope of the deal of a record; null when the records of this table belong to no deal. */
export const withinDealOf = (table: string, id: string): DealScope | null => {
  const known = dealTables.find((one) => one === table);
  return known === undefined ? null : { table: known, id };
};

const among = row<unknown, [deals: readonly string[]]>(
  'among_deals',
  `select set_config('dealkeep.among_deals', $1::uuid[]::text, true)`,
);

/**
 * For the rest of the transaction, limits the API key that has entered to these of its deals; records of others are not
 * examined (183_deals_that_are_asked_for.sql).
 */
export const amongDeals = (ids: readonly string[]): Statement<unknown> => among(ids);
