import { z } from 'zod';
import { confidentialities, documentCategories, documents, mostOfSource } from '../../domain/documents/documents.ts';
import { lengths } from '../../domain/lengths.ts';
import { defineTool, reads } from '../define.ts';
import { documentLinks } from '../document-links.ts';
import { cutHint } from '../filters.ts';
import { dealId, oneOf, text } from '../inputs.ts';
import { documentMetadata, hint } from '../records.ts';

export const svcDocumentsList = defineTool({
  name: 'svc_documents_list',
  title: "List a deal's documents",
  description:
    'The data room: documents (files) of a deal that the user may open, such as the CIM, tax returns or a lease, latest upload first, at most 200 a source: name, category, size and date, never the contents. source: simple (uploaded to the data room) or production (produced for a diligence request).',
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    deal_id: dealId(),
    category: text(1, lengths.documents.category, 'Any category of the documents.').optional(),
    confidentiality_level: oneOf(confidentialities, 'Who may open it').optional(),
  }),
  output: z.strictObject({ documents: z.array(documentMetadata), hint }),
  filters: ({ deal_id, category = null }) => [
    { input: 'category', given: category, known: documentCategories(deal_id, category ?? '') },
  ],
  work: ({ deal_id, category = null, confidentiality_level = null }) => [
    documents(deal_id, category, confidentiality_level),
  ],
  answer: ({ documents: found }) => ({ documents: found }),
  hint: ({ category, confidentiality_level }, { more, awaitsNda }) =>
    awaitsNda
      ? { message: 'Documents under NDA, if there are any, open to the user once their NDA is active: see url.' }
      : cutHint(more, `the newest ${mostOfSource} of each source`, { category, confidentiality_level }),
  links: ({ deal_id }, { documents: found }) => documentLinks(deal_id, found),
  page: 'documents',
});
