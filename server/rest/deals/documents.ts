/** Documents of a deal: what is known of them. */

import { z } from 'zod';
import {
  confidentialities,
  documentOfDeal,
  documentsOfDeal,
  documentSources,
} from '../../domain/documents/documents.ts';
import type { Services } from '../../services.ts';
import type { Callers } from '../caller.ts';
import { id, time } from '../fields.ts';
import type { Operation } from '../operation.ts';
import { dealResources, idInPath, oneOfParameter, textParameter } from './records.ts';

export const document = z
  .object({
    id,
    dealId: id,
    source: z
      .enum(documentSources)
      .meta({ description: 'simple: uploaded to the data room; production: produced for a diligence request.' }),
    filename: z.string().meta({ examples: ['Tax return 2025.pdf'] }),
    category: z.string().meta({ examples: ['financials'] }),
    confidentiality: z.enum(confidentialities).meta({
      description: 'Who may open it: everybody on the deal, buyers with an active NDA, or the exclusive buyer.',
    }),
    mediaType: z.string().meta({ examples: ['application/pdf'] }),
    sizeBytes: z
      .int()
      .min(0)
      .meta({ examples: [482113] }),
    sha256: z
      .string()
      .nullable()
      .meta({
        pattern: '^[0-9a-f]{64}$',
        description: 'Of its content, in hexadecimal digits; null where it is not known.',
        examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      }),
    uploadedAt: time,
    diligenceRequest: z
      .string()
      .nullable()
      .meta({ description: 'What it was produced for.', examples: ['Bank statements'] }),
    uploadedByName: z
      .string()
      .nullable()
      .meta({ description: 'Null also to a key without participants:read.', examples: ['Marcus Bell'] }),
  })
  .meta({ id: 'Document', description: 'What is known of a document; its content is an operation of its own.' });

const category = textParameter('category', 64, 'Only documents of this category.');
const confidentiality = oneOfParameter('confidentiality', confidentialities, 'Only documents of this confidentiality.');

export function documentOperations(services: Services, callers: Callers): readonly Operation[] {
  const { list, one } = dealResources(services, callers);
  const common = { tag: 'Documents', scope: 'documents:read' } as const;
  return [
    list({
      ...common,
      path: '/deals/{dealId}/documents',
      id: 'listDocuments',
      summary: 'List the documents of a deal',
      description: 'The latest first.',
      things: 'documents',
      item: document,
      page: 'DocumentList',
      filters: [category, confidentiality],
      rows: (c, dealId, after, limit) =>
        documentsOfDeal(dealId, after, limit, category.read(c), confidentiality.read(c)),
    }),
    {
      ...common,
      method: 'get',
      path: '/deals/{dealId}/documents/{documentId}',
      id: 'getDocument',
      summary: 'Get what is known of a document',
      description: 'Needs the scope documents:read.',
      answers: { 200: { description: 'The document.', schema: document } },
      errors: ['document_not_found'],
      handle: (c) =>
        one(c, common.scope, 'document_not_found', (dealId) =>
          documentOfDeal(dealId, idInPath(c, 'documentId', 'document_not_found')),
        ),
    },
  ];
}
