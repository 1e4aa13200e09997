/** The search parameters of the documents page: search text, category, and who may open the documents. */
import type { DocumentFilter } from '../../../api/documents.ts';
import { confidentialities } from '../../../lib/states.ts';

export type DocumentsSearch = { [K in keyof DocumentFilter]?: Exclude<DocumentFilter[K], ''> };

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
// The router parses a value of only digits as a number.
const textOf = (value: unknown) => (typeof value === 'number' ? String(value) : value);
const isConfidentiality = (value: unknown): value is keyof typeof confidentialities =>
  typeof value === 'string' && Object.hasOwn(confidentialities, value);

/** Reads the search parameters; invalid ones are left out. */
export function readDocumentsSearch(query: Record<string, unknown>): DocumentsSearch {
  const search = textOf(query.search);
  const category = textOf(query.category);
  return {
    ...(isText(search) && { search }),
    ...(isText(category) && { category }),
    ...(isConfidentiality(query.confidentiality) && { confidentiality: query.confidentiality }),
  };
}
