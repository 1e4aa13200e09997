/** What is known of a deal's documents, never their bodies (specification, sections 2.2 and 4.3). */

import { rows } from '../../database/statement.ts';
import { seenDeal } from '../deals/deals.ts';

export const confidentialities = ['public', 'nda_gated', 'selected_buyer_only'] as const;
export type Confidentiality = (typeof confidentialities)[number];

/** `simple`: uploaded to the deal's data room; `production`: produced for a diligence request. */
export const documentSources = ['simple', 'production'] as const;
export type DocumentSource = (typeof documentSources)[number];

export interface DocumentMetadata {
  id: string;
  filename: string;
  category: string;
  confidentiality: Confidentiality;
  size_bytes: number;
  uploaded_at: string;
  source: DocumentSource;
}

// A double is exact for every size that a store can hold.
const from = (table: string, source: DocumentSource): string => `(
  select id, filename, category, confidentiality, size_bytes::float8 as size_bytes, uploaded_at, '${source}' as source
  from ${table}
  where deal_id = ${seenDeal('$1')} and ($2::text is null or category = $2) and ($3::text is null or confidentiality = $3)
  order by uploaded_at desc, id desc
  limit 200)`;

/** The documents of a deal that the caller may open, the latest first, at most 200 of each source. */
export const documents = rows<
  DocumentMetadata,
  [dealId: string, category: string | null, confidentiality: Confidentiality | null]
>(
  'documents',
  `${from('documents', 'simple')} union all ${from('production_documents', 'production')} order by uploaded_at desc, id desc`,
);
