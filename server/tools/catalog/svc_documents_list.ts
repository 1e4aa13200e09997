import { z } from 'zod';
import { confidentialities, documents } from '../../domain/documents/documents.ts';
import { defineTool, reads } from '../define.ts';
import { id, oneOf, text } from '../inputs.ts';
import { documentMetadata } from '../records.ts';

export const svcDocumentsList = defineTool({
  name: 'svc_documents_list',
  title: "List a deal's documents",
  description:
    "Which documents of a deal the user may open, the latest first, at most 200 a source: name, category, confidentiality, size and date, never the contents. source is simple (uploaded to the data room) or production (produced for a diligence request). Filtered by category or confidentiality_level if given: public, nda_gated (needs an active NDA) or selected_buyer_only (the exclusive buyer's side). Empty: there are none that the user may open.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    deal_id: id(),
    category: text(1, 64).optional(),
    confidentiality_level: oneOf(confidentialities).optional(),
  }),
  output: z.strictObject({ documents: z.array(documentMetadata) }),
  work: ({ deal_id, category = null, confidentiality_level = null }) => [
    documents(deal_id, category, confidentiality_level),
  ],
  answer: (found) => ({ documents: found }),
});
