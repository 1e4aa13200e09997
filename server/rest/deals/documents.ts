/** Documents of a deal: listing, reading and uploading them. */

import type { Context } from 'hono';
import { z } from 'zod';
import { Denied, Unavailable } from '../../database/errors.ts';
import type { Statement } from '../../database/statement.ts';
import { faultOfFilename, filenameFrom } from '../../documents/filenames.ts';
import {
  UploadAborted,
  checkContentLength,
  largestDocument,
  storeUpload,
  TooLarge,
  type StoredBody,
} from '../../documents/upload.ts';
import type { TransferredFor } from '../../documents/transfer-places.ts';
import { NotTaken } from '../../documents/kinds.ts';
import { isTestKey } from '../../domain/clients/api-keys.ts';
import {
  addDocumentResource,
  beginUpload,
  confidentialities,
  documentOfDeal,
  documentsOfDeal,
  documentSources,
  openDocumentWithKey,
  type DocumentResource,
} from '../../domain/documents/documents.ts';
import { lengths } from '../../domain/lengths.ts';
import { requireVisible } from '../../domain/visibility/require-visible.ts';
import { readsOn, sendBody } from '../../http/document-body.ts';
import { bearerToken } from '../../http/bearer-token.ts';
import { originOf } from '../../http/origin.ts';
import { Problem } from '../../http/problem.ts';
import { resourceOf } from '../../domain/events/resources.ts';
import type { Services } from '../../services.ts';
import { newStorageKey } from '../../storage/storage.ts';
import type { Callers } from '../caller.ts';
import { invalid } from '../envelope.ts';
import { id, time } from '../fields.ts';
import { queryParameter, replayed, type Operation, type Parameter } from '../operation.ts';
import { lineParameter, oneOfParameter, textParameter } from '../parameters.ts';
import { errorEnvelope } from '../schemas.ts';
import { idempotencyKey, openWrites, type Write } from '../writes.ts';
import { dealInPath, dealResources, idInPath, notFound, withinDealInPath } from './records.ts';
import { refusedOn } from './refusals.ts';

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
        description: 'SHA-256 of its content in hexadecimal; null if unknown.',
        examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
      }),
    uploadedAt: time,
    diligenceRequest: z
      .string()
      .nullable()
      .meta({ description: 'The request that it was produced for.', examples: ['Bank statements'] }),
    uploadedByName: z
      .string()
      .nullable()
      .meta({ description: 'Also null for a key without participants:read.', examples: ['Marcus Bell'] }),
  })
  .meta({ id: 'Document', description: 'The metadata of a document; its content is a separate operation.' });

const category = textParameter('category', lengths.documents.category, 'Only documents in this category.');
const confidentiality = oneOfParameter(
  'confidentiality',
  confidentialities,
  'Only documents with this confidentiality.',
);

const fileContent = z
  .string()
  .meta({ id: 'DocumentContent', format: 'binary', examples: ['%PDF-1.7 …'], description: 'The bytes of the file.' });

/** The same parameter, but required. */
const required = <T>(parameter: Parameter<T | null>): Parameter<T> => ({
  ...parameter,
  required: true,
  read(c) {
    const value = parameter.read(c);
    if (value === null)
      throw invalid([{ in: 'query', path: parameter.name, message: `Required. ${parameter.description}` }]);
    return value;
  },
});

const filenameSent = required(
  queryParameter<string, null>(
    'filename',
    {
      description:
        'The name of the file with its extension, without slashes, invisible characters, or a dot at the beginning or end.',
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: lengths.documents.filename,
        examples: ['Tax return 2025.pdf'],
      },
      message: `Send a name of 1 to ${lengths.documents.filename} characters, without slashes, invisible characters, or a dot at the beginning or end.`,
    },
    (value) => {
      const name = filenameFrom(value);
      return name.isWellFormed() && faultOfFilename(name) === null ? name : undefined;
    },
    null,
  ),
);
const categorySent = required(
  lineParameter('category', lengths.documents.category, 'The category under which the data room lists it.'),
);
const confidentialitySent = required(
  oneOfParameter(
    'confidentiality',
    confidentialities,
    'Who may open it: everybody on the deal, buyers with an active NDA, or the exclusive buyer.',
  ),
);
const diligenceRequest = lineParameter(
  'diligenceRequest',
  lengths.production_documents.diligence_request,
  'The diligence request that it is produced for, if any.',
);

const lenient = (name: string, description: string, schema: object = {}): Parameter<string | null> => ({
  in: 'header',
  name,
  description,
  schema: { type: 'string', ...schema },
  isLenient: true,
  read: (c) => c.req.header(name) ?? null,
});
const range = lenient('Range', 'The part to return. Anything but one range of bytes returns the whole file.', {
  examples: ['bytes=1048576-'],
});
const ifRange = lenient('If-Range', 'ETag of an earlier response: if it no longer matches, Range is ignored.');
const header = (description: string) => ({ description, schema: { type: 'string' } });
const ofFile = {
  'Accept-Ranges': header('bytes'),
  'Content-Disposition': header('attachment, with the name of the file.'),
  'Content-Length': header('The length of the body in bytes.'),
  ETag: header('The SHA-256 of the file in hexadecimal, in quotes; absent for files stored without one.'),
};
const ofPart = {
  'Content-Range': header('Which bytes of how many: `bytes 0-99/2048`, or `bytes */2048` if there is no such part.'),
};

/** The operations on documents; `callers` authenticates API keys. */
export function documentOperations(services: Services, callers: Callers): readonly Operation[] {
  const { list, one } = dealResources(services, callers);
  const writes = openWrites(services, callers);
  const { database, storage, log } = services;

  async function content(c: Context): Promise<Response> {
    const { caller, answer: opened } = await callers.ask(c, 'documents:content', () =>
      openDocumentWithKey(idInPath(c, 'documentId', 'document_not_found'), c.req.method === 'HEAD' ? null : readsOn(c)),
    );
    if (opened === null) throw notFound('document_not_found');
    const noSuchPart = () => {
      const message = 'The range is outside the file.';
      return new Problem(416, 'validation_error', message, { details: [{ in: 'header', path: 'Range', message }] });
    };
    const whose = { caller: caller.key_id, brokerage: caller.brokerage_id, isSandbox: isTestKey(bearerToken(c) ?? '') };
    return sendBody(services, c, c.req.param('documentId') ?? '', opened, whose, 'attachment', noSuchPart);
  }

  /** Stores the file. Throws a problem that says why it is rejected. */
  async function storeFile(c: Context, storageKey: string, name: string, whose: TransferredFor): Promise<StoredBody> {
    try {
      checkContentLength(c.req.header('content-length'));
      return await storeUpload(storage, storageKey, name, c.req.raw.body ?? new ReadableStream(), whose);
    } catch (error) {
      const faulty = (status: 400 | 413 | 415) =>
        invalid([{ in: 'body', path: '', message: (error as Error).message }], status);
      if (error instanceof NotTaken) throw faulty(415);
      if (error instanceof TooLarge) throw faulty(413);
      if (error instanceof UploadAborted) throw faulty(400);
      throw error;
    }
  }

  async function upload(c: Context): Promise<Response> {
    const storageKey = newStorageKey();
    let isStored = false;
    const clear = () =>
      storage.remove(storageKey).catch((error: unknown) => {
        log.warn({ err: error }, 'an unused document file could not be deleted yet');
      });
    const of = {
      scopes: ['documents:write', 'documents:read'] as const,
      action: 'document.upload' as const,
      meaning: refusedOn('deal_not_found'),
      within: withinDealInPath(c),
    };
    const response = await writes
      .run(c, of, async ({ enter, admit }): Promise<Write<readonly [Statement<DocumentResource | null>]>> => {
        const dealId = dealInPath(c);
        // A key that may not upload is refused before any of the file is read.
        const [found, , brokerage] = await database.together(
          enter,
          requireVisible('deals', dealId),
          beginUpload(dealId, storageKey, c.req.query(diligenceRequest.name) === undefined ? 'simple' : 'production'),
        );
        const { key_id } = admit(found);
        if (brokerage === null) throw new Denied('This key may not add documents to the deal.');
        const filename = filenameSent.read(c);
        const given = {
          filename,
          category: categorySent.read(c),
          confidentiality: confidentialitySent.read(c),
        };
        const request = diligenceRequest.read(c);
        const isSandbox = isTestKey(bearerToken(c) ?? '');
        const kept = await storeFile(c, storageKey, filename, { caller: key_id, brokerage, isSandbox });
        isStored = true;
        return {
          statements: [addDocumentResource(dealId, { ...given, ...kept, storageKey }, request, originOf(c))],
          said: { ...given, request, sha256: kept.sha256.toString('hex') },
          answer: ([added]) => {
            if (added === null) throw notFound('deal_not_found');
            return { status: 201, body: resourceOf(added) };
          },
        };
      })
      .catch(async (error: unknown) => {
        // If the database could not be reached, it is unknown whether the document exists: a scheduled job clears up
        // then.
        if (isStored && !(error instanceof Unavailable)) await clear();
        throw error;
      });
    // A repeated request: the first one has stored its own file.
    if (response.headers.get('Idempotent-Replayed') === 'true') await clear();
    return response;
  }
  const common = { tag: 'Documents', scope: 'documents:read' } as const;
  return [
    list({
      ...common,
      path: '/deals/{dealId}/documents',
      id: 'listDocuments',
      summary: 'List the documents of a deal',
      description: 'Newest first.',
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
      summary: 'Get the metadata of a document',
      description: 'Needs the scope documents:read.',
      answers: { 200: { description: 'The document.', schema: document } },
      errors: ['document_not_found'],
      handle: (c) =>
        one(c, common.scope, 'document_not_found', (dealId) =>
          documentOfDeal(dealId, idInPath(c, 'documentId', 'document_not_found')),
        ),
    },
    {
      method: 'post',
      path: '/deals/{dealId}/documents',
      id: 'uploadDocument',
      tag: common.tag,
      summary: 'Upload a document',
      description: `Send the file as the body: up to ${largestDocument.words}, of a type that data rooms accept. Its name and who may open it go in the query. Needs the scopes documents:write and documents:read.`,
      scope: 'documents:write',
      parameters: [filenameSent, categorySent, confidentialitySent, diligenceRequest, idempotencyKey],
      body: fileContent,
      bodyTypes: ['application/octet-stream'],
      answers: { 201: { description: 'The document.', schema: document, headers: replayed } },
      errors: ['deal_not_found', 'conflict'],
      handle: upload,
    },
    {
      method: 'get',
      path: '/documents/{documentId}/content',
      id: 'getDocumentContent',
      tag: common.tag,
      summary: 'Get the content of a document',
      description:
        'The file, or the part that a Range header requests. The openings of the document show that the key opened it. Needs the scope documents:content.',
      scope: 'documents:content',
      parameters: [range, ifRange],
      answers: {
        200: { description: 'The file.', types: ['*/*'], headers: ofFile },
        206: { description: 'The requested part.', types: ['*/*'], headers: { ...ofFile, ...ofPart } },
        416: {
          description: 'The range is outside the file: validation_error.',
          schema: errorEnvelope,
          headers: ofPart,
        },
      },
      errors: ['document_not_found'],
      handle: content,
    },
  ];
}
