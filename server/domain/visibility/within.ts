/** What a transaction is about: with it in the call that enters, the database looks at nothing of the caller's other deals. */

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
export interface Within {
  readonly table: (typeof dealTables)[number];
  readonly id: string;
}

/** One deal. */
export const withinDeal = (id: string): Within => ({ table: 'deals', id });

/** The deal of a document. */
export const withinDocument = (source: 'simple' | 'production', id: string): Within => ({
  table: source === 'simple' ? 'documents' : 'production_documents',
  id,
});

/** The deal of a record, or null: records of this table belong to none. */
export const withinDealOf = (table: string, id: string): Within | null => {
  const known = dealTables.find((one) => one === table);
  return known === undefined ? null : { table: known, id };
};
