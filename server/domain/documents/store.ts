/** The store that has the documents of this database, recognized by an id that is written into the store. */

import { row } from '../../database/statement.ts';

interface DocumentStore {
  store_id: string;
  /** Whether the store is marked with the id already. */
  is_marked: boolean;
  /** Whether the node that named this candidate has to mark it. */
  is_mine: boolean;
}

/** The store of this database; `candidate` becomes its id when it has none, or nobody has marked a store with the one it has. */
export const documentStore = row<DocumentStore, [candidate: string]>(
  'document_store',
  'select store_id, is_marked, is_mine from app.document_store($1)',
);

/** Notes that the store with this id is marked. */
export const documentStoreMarked = row<unknown, [storeId: string]>(
  'document_store_marked',
  'select app.document_store_marked($1)',
);
