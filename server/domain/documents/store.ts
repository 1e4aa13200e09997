/** The store that has the documents of this database, identified by an id that is written into the store. */

import { row } from '../../database/statement.ts';

interface DocumentStore {
  store_id: string;
  /** Whether the store has been marked with the id. */
  is_marked: boolean;
  /** Whether the node that proposed this candidate must mark the store. */
  is_mine: boolean;
}

/**
 * The store of this database. `candidate` becomes its id if it has none, or if no store was marked with its id within
 * 30 seconds.
 */
export const documentStore = row<DocumentStore, [candidate: string]>(
  'document_store',
  'select store_id, is_marked, is_mine from app.document_store($1)',
);

/** Records that the store with this id is marked. */
export const documentStoreMarked = row<unknown, [storeId: string]>(
  'document_store_marked',
  'select app.document_store_marked($1)',
);
