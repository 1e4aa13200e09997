/** The documents of a deal: listing, uploading, opening, changing, removing and restoring them. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import { Unavailable } from '../../database/errors.ts';
import { searchWords, type Place } from '../../database/paging.ts';
import { UploadAborted, checkContentLength, storeUpload, TooLarge, type StoredBody } from '../../documents/upload.ts';
import type { TransferredFor } from '../../documents/transfer-places.ts';
import { faultOfFilename, filenameFrom } from '../../documents/filenames.ts';
import { endingOf, NotTaken } from '../../documents/kinds.ts';
import {
  addDocument,
  beginUpload,
  changeDocument,
  confidentialities,
  documentOnPage,
  documentOpenings,
  documentsOnPage,
  documentsToRestore,
  documentSources,
  headOfDocument,
  isToldOfOpenings,
  openDocument,
  openingsOnDeal,
  previewedTypes,
  removeDocument,
  restoreDocument,
  type DealOpening,
  type DocumentSource,
} from '../../domain/documents/documents.ts';
import { newStorageKey } from '../../storage/storage.ts';
import { readsOn, sendBody } from '../../http/document-body.ts';
import { originOf } from '../../http/origin.ts';
import { withinDocument } from '../../domain/visibility/deal-scope.ts';
import { asPersonWithin, withPersonWithin } from '../../http/person.ts';
import { invalid, notAllowed, nothingThere, Problem, tooLarge } from '../../http/problem.ts';
import { csvExport } from './csv.ts';
import { body, line, optional, pathId, query, searchText } from './input.ts';
import { withDeal, withPersonAndDeal } from './visible-record.ts';
import { orNotFound } from './problems.ts';

const filename = line(lengths.documents.filename)
  .transform(filenameFrom)
  .superRefine((name, { addIssue }) => {
    const message = faultOfFilename(name);
    if (message !== null) addIssue({ code: 'custom', message });
  });
const category = line(lengths.documents.category);
const confidentiality = z.enum(confidentialities, { error: 'Choose who may open it.' });

const Filter = z.object({
  category: optional(z.string().max(lengths.documents.category)),
  confidentiality: optional(confidentiality),
  search: searchText,
});
const New = z.object({
  filename,
  category,
  confidentiality,
  diligence_request: optional(line(lengths.production_documents.diligence_request)),
});
const openingHeading = ['opened_at', 'person', 'document', 'removed_at', 'person_id', 'document_id', 'opening_id'];
const openingCells = (opening: DealOpening) => [
  opening.opened_at,
  opening.user_name,
  opening.filename,
  opening.removed_at,
  opening.user_id,
  opening.document_id,
  opening.id,
];
const Change = z
  .strictObject({ filename, category, confidentiality })
  .partial()
  .refine((given) => Object.keys(given).length > 0, 'Send at least one field to change.');

function sourceOf(c: Context): DocumentSource {
  const source = documentSources.find((one) => one === c.req.param('source'));
  if (!source) throw nothingThere();
  return source;
}

/**
 * Opens a document for the person and sends it. Throws 404 when there is no such document that they may open, and 415
 * when the application cannot show it.
 */
async function sendDocument(
  services: Services,
  c: Context,
  source: DocumentSource,
  id: string,
  how: 'attachment' | 'inline',
): Promise<Response> {
  // A HEAD request does not count as opening the document.
  const asked = c.req.method === 'HEAD' ? headOfDocument(source, id) : openDocument(source, id, readsOn(c));
  const [person, opened] = await withPersonWithin(withinDocument(source, id))(services, c, asked);
  if (!opened) throw nothingThere();
  if (how === 'inline' && !(previewedTypes as readonly string[]).includes(opened.media_type))
    throw new Problem(415, 'no_preview', 'This kind of file cannot be shown here. Download it instead.');
  const whose = { caller: person.user_id, brokerage: opened.brokerage_id };
  return sendBody(services, c, id, opened, whose, how);
}

async function intake(
  { storage }: Services,
  c: Context,
  key: string,
  name: string,
  whose: TransferredFor,
): Promise<StoredBody> {
  try {
    checkContentLength(c.req.header('content-length'));
    return await storeUpload(storage, key, name, c.req.raw.body ?? new ReadableStream(), whose);
  } catch (error) {
    if (error instanceof NotTaken) throw new Problem(415, 'unsupported_type', error.message);
    if (error instanceof TooLarge) throw tooLarge(error.message);
    if (error instanceof UploadAborted) throw new Problem(400, 'broken_off', error.message);
    throw error;
  }
}

/** The document routes, below /api/web. */
export function documentRoutes(services: Services) {
  const clear = (storageKey: string) =>
    services.storage
      .remove(storageKey)
      .catch((error: unknown) => services.log.warn({ err: error }, 'an unused document file could not be deleted yet'));

  return new Hono()
    .get('/deals/:id/documents', query(Filter), async (c) => {
      const dealId = pathId(c);
      const filter = c.req.valid('query');
      const [items] = await withDeal(
        services,
        c,
        dealId,
        documentsOnPage(dealId, filter.category, filter.confidentiality, searchWords(filter.search)),
      );
      return c.json({ items });
    })

    .get('/deals/:id/documents/removed', async (c) => {
      const dealId = pathId(c);
      const [items] = await withDeal(services, c, dealId, documentsToRestore(dealId));
      return c.json({ items });
    })

    .get('/deals/:id/documents/openings', (c) => {
      const dealId = pathId(c);
      const read = async (after: Place | null, limit: number) => {
        const [isTold, page] = await withDeal(
          services,
          c,
          dealId,
          isToldOfOpenings(dealId),
          openingsOnDeal(dealId, after, limit),
        );
        if (!isTold) throw notAllowed();
        return page;
      };
      return csvExport(c, { name: 'document-openings', heading: openingHeading, cells: openingCells, read });
    })

    .post('/deals/:id/documents', query(New), async (c) => {
      const dealId = pathId(c);
      const storageKey = newStorageKey();
      const { diligence_request, ...given } = c.req.valid('query');
      const source = diligence_request === null ? 'simple' : 'production';
      // A person who may not upload is rejected before any of the file is read.
      const [person, brokerage] = await withPersonAndDeal(services, c, dealId, beginUpload(dealId, storageKey, source));
      if (brokerage === null) throw notAllowed();
      const whose = { caller: person.user_id, brokerage };
      const kept = await intake(services, c, storageKey, given.filename, whose);
      const add = addDocument(dealId, { ...given, ...kept, storageKey }, diligence_request, originOf(c));
      const [id] = await withDeal(services, c, dealId, add).catch(async (error: unknown) => {
        // When the database became unavailable it is unknown whether the document was stored; a scheduled job finds
        // out.
        if (!(error instanceof Unavailable)) await clear(storageKey);
        throw error;
      });
      const [added] = await withDeal(services, c, dealId, documentOnPage(source, id));
      return c.json(orNotFound(added), 201);
    })

    .patch('/documents/:source/:id', body(Change), async (c) => {
      const source = sourceOf(c);
      const id = pathId(c);
      const change = c.req.valid('json');
      if (change.filename !== undefined) {
        // Programs tell a file's type by the extension, which was validated at the upload.
        const [before] = await asPersonWithin(services, c, withinDocument(source, id), documentOnPage(source, id));
        if (before === null) throw nothingThere();
        const ending = endingOf(before.filename);
        if (endingOf(change.filename) !== ending)
          throw invalid([{ path: 'filename', message: `The name must still end in .${ending}.` }]);
      }
      const [changed, now] = await asPersonWithin(
        services,
        c,
        withinDocument(source, id),
        changeDocument(source, id, change, originOf(c)),
        documentOnPage(source, id),
      );
      if (now === null) throw nothingThere();
      if (!changed) throw notAllowed();
      return c.json(now);
    })

    .delete('/documents/:source/:id', async (c) => {
      const source = sourceOf(c);
      const id = pathId(c);
      const [before, removed] = await asPersonWithin(
        services,
        c,
        withinDocument(source, id),
        documentOnPage(source, id),
        removeDocument(source, id, originOf(c)),
      );
      if (before === null) throw nothingThere();
      if (!removed) throw notAllowed();
      return c.body(null, 204);
    })

    .post('/documents/:source/:id/restore', async (c) => {
      const source = sourceOf(c);
      const id = pathId(c);
      const [restored, now] = await asPersonWithin(
        services,
        c,
        withinDocument(source, id),
        restoreDocument(source, id, originOf(c)),
        documentOnPage(source, id),
      );
      if (!restored || now === null) throw nothingThere();
      return c.json(now);
    })

    .get('/documents/:source/:id/content', (c) => sendDocument(services, c, sourceOf(c), pathId(c), 'attachment'))

    .get('/documents/:source/:id/preview', (c) => sendDocument(services, c, sourceOf(c), pathId(c), 'inline'))

    .get('/documents/:source/:id/openings', async (c) => {
      const source = sourceOf(c);
      const id = pathId(c);
      const [seen, items] = await asPersonWithin(
        services,
        c,
        withinDocument(source, id),
        documentOnPage(source, id),
        documentOpenings(source, id),
      );
      if (seen === null) throw nothingThere();
      if (seen.openings === null) throw notAllowed();
      return c.json({ items });
    });
}
