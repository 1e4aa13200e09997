/** Resource links to documents (server/tools/resources.ts) in the results of tools. */

import type { ResourceLink } from '@modelcontextprotocol/server';
import type { DocumentMetadata } from '../domain/documents/documents.ts';

/** The resource URI of a document. */
export const documentUri = (dealId: string, id: string): string => `dealkeep://deals/${dealId}/documents/${id}`;

/** The model reads each link in addition to the text, which has all documents: the latest uploads are enough. */
const mostLinks = 10;

/** Links to the first {@link mostLinks} of these documents. */
export const documentLinks = (dealId: string, documents: readonly DocumentMetadata[]): ResourceLink[] =>
  documents.slice(0, mostLinks).map(({ id, filename }) => ({
    type: 'resource_link',
    uri: documentUri(dealId, id),
    name: filename,
    mimeType: 'application/json',
  }));
