/** Links to documents, as resources (server/tools/resources.ts), in the results of tools. */

import type { ResourceLink } from '@modelcontextprotocol/server';
import type { DocumentMetadata } from '../domain/documents/documents.ts';

/** The address of a document as a resource. */
export const documentUri = (dealId: string, id: string): string => `dealkeep://deals/${dealId}/documents/${id}`;

/** Each is read by the model beside the text that has all documents: those uploaded last are enough. */
const mostLinks = 10;

/** Links to the first of these documents. */
export const documentLinks = (dealId: string, documents: readonly DocumentMetadata[]): ResourceLink[] =>
  documents.slice(0, mostLinks).map(({ id, filename }) => ({
    type: 'resource_link',
    uri: documentUri(dealId, id),
    name: filename,
    mimeType: 'application/json',
  }));
