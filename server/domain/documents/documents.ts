/**
 * A deal's documents (specification, sections 2.2 and 4.3): their metadata, and uploading, opening, changing and
 * removing them.
 */

import { anywhere, behindPlace, paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { DealAction } from '../audit/actions.ts';
import { addedId, audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { onOpenDeal, seenDeal } from '../deals/deals.ts';
import { knownName, knownPerson } from '../deals/participants.ts';
import { listOfDeal, orderedRows, recordsByIds } from '../visibility/list-of-deal.ts';

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

const tables: Readonly<Record<DocumentSource, string>> = { simple: 'documents', production: 'production_documents' };

/** The maximum number of documents of each source in one list of a tool. */
export const mostOfSource = 200;

// A double represents every possible document size exactly.
const metadataOf = (table: string, source: DocumentSource): string => `(
  select id, filename, category, confidentiality, size_bytes::float8 as size_bytes, uploaded_at, '${source}' as source
  from ${table}
  where deal_id = ${seenDeal('$1')} and ($2::text is null or lower(category) = lower($2)) and ($3::text is null or confidentiality = $3)
  order by uploaded_at desc, id desc
  limit ${mostOfSource + 1})`;

// Whether the caller awaits an NDA matters only where they may open nothing, and is asked only there.
const newest = rows<
  DocumentMetadata | { [Name in keyof DocumentMetadata]: null },
  [dealId: string, category: string | null, confidentiality: Confidentiality | null]
>(
  'documents',
  `with found as materialized (
     ${metadataOf('documents', 'simple')} union all ${metadataOf('production_documents', 'production')})
   select found.* from found
   union all
   select null, null, null, null, null, null, null
   where case when not exists (select from found) then
     ${seenDeal('$1')} = any (app.deals_as('buyer')) and ${seenDeal('$1')} <> all (app.deals_under_nda()) end
   order by uploaded_at desc, id desc`,
);

interface DocumentList {
  readonly documents: DocumentMetadata[];
  /** Whether there are more of a source. */
  readonly more: boolean;
  /** Whether the caller is on a buyer's side that has no active NDA; false where there are documents. */
  readonly awaitsNda: boolean;
}

/**
 * The documents of a deal that the caller may open, newest first, at most {@link mostOfSource} of each source,
 * optionally only those of a category or of a confidentiality.
 */
export const documents = (
  dealId: string,
  category: string | null,
  confidentiality: Confidentiality | null,
): Statement<DocumentList> =>
  mapped(newest(dealId, category, confidentiality), (found) => {
    const listed = found.filter((one): one is DocumentMetadata => one.id !== null);
    const seen = { simple: 0, production: 0 };
    const shown = listed.filter(({ source }) => (seen[source] += 1) <= mostOfSource);
    return { documents: shown, more: shown.length < listed.length, awaitsNda: found.length > listed.length };
  });

/**
 * The categories of the documents of a deal that the caller may open, at most 50: first the category that equals
 * `named`, ignoring case.
 */
export const documentCategories = rows<{ known: string }, [dealId: string, named: string]>(
  'document_categories',
  `select known from (
     select category as known from documents where deal_id = ${seenDeal('$1')}
     union select category from production_documents where deal_id = ${seenDeal('$1')}) c
   order by lower(known) <> lower($2), known limit 50`,
);

/** A document in a list of the documents of all deals. */
export interface DocumentAnywhere extends DocumentMetadata {
  deal_id: string;
  deal_title: string;
  media_type: string;
  /**
   * When the deal was created, as text. With `place` and the ids of the deal and the document, the document's position
   * in the list.
   */
  deal_place: string;
  place: string;
}

/** The position after which a page of {@link documentsAnywhere} begins. */
export type DocumentPlace = Pick<DocumentAnywhere, 'deal_id' | 'deal_place' | 'id' | 'place'>;

const anywhereInOrder = rows<
  DocumentAnywhere,
  [dealPlace: string | null, dealId: string | null, place: string | null, id: string | null, limit: number]
>(
  'documents_anywhere',
  `select s.id, s.filename, s.category, s.confidentiality, s.size_bytes, s.uploaded_at, s.source, s.media_type, s.uploaded_at::text as place,
     s.deal_id, s.deal_title, s.deal_created_at::text as deal_place
   from app.documents_in_sight($1, $2, $3, $4, $5) s`,
);

/**
 * The documents of all deals that the caller may open, those of the newest deal first, and newest first within a deal:
 * at most `limit` after a position.
 */
export const documentsAnywhere = (after: DocumentPlace | null, limit: number): Statement<DocumentAnywhere[]> =>
  anywhereInOrder(after?.deal_place ?? null, after?.deal_id ?? null, after?.place ?? null, after?.id ?? null, limit);

export interface DealDocument {
  id: string;
  deal_id: string;
  filename: string;
  category: string;
  confidentiality: Confidentiality;
  /** Decimal digits. */
  size_bytes: string;
  uploaded_at: string;
  /** When it was opened to more people, the caller among them; otherwise when it was uploaded. */
  opened_at: string;
  /** Null when the caller may not see who uploaded the document. */
  uploaded_by_name: string | null;
  /** Whether the caller uploaded the document. */
  mine: boolean;
  source: DocumentSource;
  diligence_request: string | null;
  media_type: string;
  /** Whether the web application can show the document in the page. */
  can_preview: boolean;
  can_edit: boolean;
  /** How often the document was opened; null unless the caller may know. */
  openings: number | null;
}

/** Media types that the web application shows in its own page: PDF, and the image types that every browser supports. */
export const previewedTypes = [
  'application/pdf',
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'image/bmp',
] as const;

/**
 * At most this many documents of each source are listed; more are found by searching. The pages have the same number.
 */
export const mostDocumentsOfSource = 2000;

const fields = (source: DocumentSource): string =>
  `d.id, d.deal_id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at,
  case when d.confidentiality_before is null or app.document_is_visible(d.deal_id, d.confidentiality_before, true,
      (select app.deals_as('broker', 'seller')), (select app.deals_under_nda()), (select app.deals_held_exclusively()))
    then d.uploaded_at else d.confidentiality_changed_at end as opened_at, ${knownName('u')} as uploaded_by_name,
  d.uploaded_by is not distinct from (select app.user_id()) as mine,
   '${source}' as source, ${source === 'simple' ? 'null' : 'd.diligence_request'} as diligence_request, d.media_type,
   d.media_type in (${previewedTypes.map((type) => `'${type}'`).join(', ')}) as can_preview,
   ${onOpenDeal('d')} and d.deal_id = any ((select app.deals_acting_as('broker', 'seller'))::uuid[]) as can_edit,
   case when d.deal_id = any ((select app.deals_as('broker', 'seller'))::uuid[])
     then (select count(*)::int from document_openings o where o.document_id = d.id) end as openings`;

const tablesOf = (source: DocumentSource): string =>
  `${tables[source]} d ${knownPerson('u', 'd.uploaded_by', 'd.deal_id')}`;

const list = (source: DocumentSource): string => `(
  select ${fields(source)} from ${tablesOf(source)}
  where d.deal_id = $1 and ($2::text is null or lower(d.category) = lower($2)) and ($3::text is null or d.confidentiality = $3)
    and app.folded(concat_ws(' ', d.filename, d.category, ${source === 'simple' ? 'null' : 'd.diligence_request'}))
      like all (array(select app.folded(word) from unnest($4::text[]) word))
  order by d.uploaded_at desc, d.id desc limit ${mostDocumentsOfSource})`;

const onPage = rows<
  DealDocument,
  [dealId: string, category: string | null, confidentiality: Confidentiality | null, patterns: readonly string[]]
>('documents_on_page', `${list('simple')} union all ${list('production')} order by uploaded_at desc, id desc`);

/**
 * The documents of a deal that the caller may open, newest first; optionally only those of a category, of a
 * confidentiality, or that contain all `words`.
 */
export const documentsOnPage = (
  dealId: string,
  category: string | null,
  confidentiality: Confidentiality | null,
  words: readonly string[],
): Statement<DealDocument[]> => onPage(dealId, category, confidentiality, words.map(anywhere));

function bySource<V extends readonly unknown[], R>(
  declare: (source: DocumentSource) => (...values: V) => Statement<R>,
): (source: DocumentSource, ...values: V) => Statement<R> {
  const statements = { simple: declare('simple'), production: declare('production') };
  return (source, ...values) => statements[source](...values);
}

/** One document, or null when it does not exist or the caller may not open it. */
export const documentOnPage = bySource((source) =>
  row<DealDocument, [id: string]>(
    `${source}_document_on_page`,
    `select ${fields(source)} from ${tablesOf(source)} where d.id = $1`,
  ),
);

const begin = row<{ brokerage: string | null }, [dealId: string, storageKey: string, table: string]>(
  'begin_upload',
  'select case when app.begin_upload($1, $2, $3) then (select d.organization_id from deals d where d.id = $1) end as brokerage',
);

/**
 * Registers the body of a document before any of it is read. Returns the deal's brokerage, or null when the caller may
 * not add documents to the deal. Refused with `too_many_today` or `deal_closed`.
 */
export const beginUpload = (dealId: string, storageKey: string, source: DocumentSource): Statement<string | null> =>
  mapped(begin(dealId, storageKey, tables[source]), (found) => found?.brokerage ?? null);

interface NewDocument {
  readonly filename: string;
  readonly category: string;
  readonly confidentiality: Confidentiality;
  readonly size: number;
  readonly mediaType: string;
  readonly sha256: Uint8Array;
  readonly storageKey: string;
}

const kept = (source: DocumentSource) => ({
  details: `jsonb_build_object('source', '${source}', 'confidentiality', changed.confidentiality)`,
});

const columns = 'deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key';

const addSimple = row<{ id: string }>(
  'add_document',
  `with changed as (
     insert into documents (${columns}) values ($3, $4, $5, $6, $7, $8, $9, $10) returning id, deal_id, confidentiality)
   select changed.id from changed ${audited('document.upload', kept('simple'))}`,
);
const addProduction = row<{ id: string }>(
  'add_production_document',
  `with changed as (
     insert into production_documents (${columns}, diligence_request)
     values ($3, $4, $5, $6, $7, $8, $9, $10, $11) returning id, deal_id, confidentiality)
   select changed.id from changed ${audited('document.upload', kept('production'))}`,
);

/**
 * Adds a document whose body is in the store, optionally for a diligence request. Returns its id. Denied to all but
 * brokers and sellers.
 */
export function addDocument(
  dealId: string,
  document: NewDocument,
  diligenceRequest: string | null,
  origin: Origin,
): Statement<string> {
  const { filename, category, confidentiality, size, mediaType, sha256, storageKey } = document;
  const values = [dealId, filename, category, confidentiality, size, mediaType, sha256, storageKey];
  const add =
    diligenceRequest === null
      ? addSimple(...from(origin), ...values)
      : addProduction(...from(origin), ...values, diligenceRequest);
  return addedId(add);
}

interface DocumentChange {
  readonly filename?: string | undefined;
  readonly category?: string | undefined;
  readonly confidentiality?: Confidentiality | undefined;
}

const change = bySource((source) =>
  row<{ id: string }>(
    `change_${source}_document`,
    `with changed as (
       update ${tables[source]} set filename = coalesce($4, filename), category = coalesce($5, category),
         confidentiality = coalesce($6, confidentiality)
       where id = $3 returning id, deal_id, confidentiality)
     select changed.id from changed ${audited('document.change', kept(source))}`,
  ),
);

/** Changes the given fields; false when the document does not exist or the caller may not change it. */
export const changeDocument = (
  source: DocumentSource,
  id: string,
  { filename, category, confidentiality }: DocumentChange,
  origin: Origin,
): Statement<boolean> => tookPlace(change(source, ...from(origin), id, filename, category, confidentiality));

const takeOrPut = (name: string, action: DealAction, back: boolean) =>
  row<{ done: boolean }>(
    name,
    `select true as done from (select app.remove_document($4, $3, ${back}) as deal_id offset 0) changed
     ${audited(action, { subject: '$3', details: `jsonb_build_object('source', $4::text)` })}
     where changed.deal_id is not null`,
  );
const remove = takeOrPut('remove_document', 'document.remove', false);
const putBack = takeOrPut('restore_document', 'document.restore', true);

/** Removes a document from its deal; false when the document does not exist or the caller may not remove it. */
export const removeDocument = (source: DocumentSource, id: string, origin: Origin): Statement<boolean> =>
  tookPlace(remove(...from(origin), id, source));

/** Restores a document that was removed within the last hour; false when there is nothing to restore. */
export const restoreDocument = (source: DocumentSource, id: string, origin: Origin): Statement<boolean> =>
  tookPlace(putBack(...from(origin), id, source));

export interface RemovedDocument {
  id: string;
  source: DocumentSource;
  filename: string;
  removed_at: string;
  /** Null when the caller may not see who removed the document. */
  removed_by_name: string | null;
}

/** {@link documentsToRestore} returns at most this many. The pages have the same number. */
export const mostToRestore = 500;

/**
 * The documents of a deal that {@link restoreDocument} can restore, the last removed first, at most
 * {@link mostToRestore}; none for a caller who may not restore them.
 */
export const documentsToRestore = rows<RemovedDocument, [dealId: string]>(
  'documents_to_restore',
  `select r.id, r.source, r.filename, r.removed_at, ${knownName('u')} as removed_by_name
   from app.documents_to_restore($1) r ${knownPerson('u', 'r.removed_by', '$1')}
   order by r.removed_at desc, r.id desc limit ${mostToRestore}`,
);

export interface OpenedDocument {
  filename: string;
  media_type: string;
  /** Decimal digits. */
  size_bytes: string;
  /** In hexadecimal digits; null if it was never computed. */
  sha256: string | null;
  storage_key: string;
}

/** A document opened by a person, whose request, unlike that of an API key, does not determine the brokerage. */
interface DocumentOpenedByPerson extends OpenedDocument {
  brokerage_id: string;
}

/**
 * Returns where the body of a document is, and records that the caller opened it; with `readsOn`, the caller continues
 * reading, which is not recorded again within an hour. Null when the document does not exist or the caller may not open
 * it.
 */
export const openDocument = row<DocumentOpenedByPerson, [source: DocumentSource, id: string, readsOn: boolean]>(
  'open_document',
  'select filename, media_type, size_bytes, sha256, storage_key, brokerage_id from app.open_document($1, $2, $3)',
);

/**
 * Returns where the bodies of these documents are, without those that the caller may not open, and records for each
 * that the caller opened it.
 */
export const openDocuments = rows<
  { id: string; storage_key: string },
  [source: DocumentSource, ids: readonly string[]]
>(
  'open_documents',
  'select d.id, o.storage_key from unnest($2::uuid[]) d (id) cross join lateral app.open_document($1, d.id, false) o',
);

const head = bySource((source) =>
  row<DocumentOpenedByPerson, [id: string]>(
    `head_of_${source}_document`,
    `select filename, media_type, size_bytes, encode(sha256, 'hex') as sha256, '' as storage_key,
       (select e.organization_id from deals e where e.id = d.deal_id) as brokerage_id
     from ${tables[source]} d where id = $1`,
  ),
);

/**
 * Like {@link openDocument}, but without a record and without the location of the body: a HEAD request does not count
 * as opening.
 */
export const headOfDocument = (source: DocumentSource, id: string): Statement<DocumentOpenedByPerson | null> =>
  head(source, id);

interface DocumentOpening {
  id: string;
  /** Null when the caller may not know who opened the document. */
  user_id: string | null;
  user_name: string;
  opened_at: string;
}

// Sellers are not told whether API keys reach the deal.
const openingFields = `o.id, u.id as user_id,
     case when o.key_id is null then coalesce(${knownName('u')}, 'Someone')
       when o.deal_id = any ((select app.deals_acting_as('broker'))::uuid[]) then coalesce('Key ' || k.name, 'An API key')
       else 'The brokerage' end as user_name, o.opened_at`;
const whoOpened = `${knownPerson('u', 'o.user_id', 'o.deal_id')} left join api_keys k on k.id = o.key_id`;

/** {@link documentOpenings} returns at most this many. The pages have the same number. */
export const mostOpenings = 500;

/** Who opened a document and when, as far as the caller may know, newest first, at most {@link mostOpenings}. */
export const documentOpenings = rows<DocumentOpening, [source: DocumentSource, id: string]>(
  'document_openings',
  `select ${openingFields}
   from document_openings o ${whoOpened}
   where o.source = $1 and o.document_id = $2
   order by o.opened_at desc, o.id desc limit ${mostOpenings}`,
);

/** An opening of any of a deal's documents. */
export interface DealOpening extends DocumentOpening {
  document_id: string;
  filename: string;
  /** When the document was removed; null if it is still there. */
  removed_at: string | null;
}

const onDeal = rows<Placed<DealOpening>, [dealId: string, key: string | null, id: string | null, limit: number]>(
  'openings_on_deal',
  `with found as materialized (
     select o.* from document_openings o
     where o.deal_id = $1 and ${behindPlace({ key: 'o.opened_at', type: 'timestamptz', id: 'o.id', direction: 'desc' })}
     order by o.opened_at desc, o.id desc limit $4)
   select ${openingFields}, o.document_id, n.filename, n.removed_at, o.opened_at::text as place
   from found o join app.names_of_documents($1, array(select f.document_id from found f)) n on n.id = o.document_id ${whoOpened}
   order by o.opened_at desc, o.id desc`,
);

/** Who opened which document of a deal, removed ones too, newest first, in pages: for its brokers and sellers. */
export const openingsOnDeal = (dealId: string, after: Place | null, limit: number): Statement<Page<DealOpening>> =>
  paged(onDeal(dealId, after?.key ?? null, after?.id ?? null, limit + 1), limit, (opening) => opening);

const onItsSide = row<{ told: boolean }, [dealId: string]>(
  'told_of_openings',
  `select d.id = any ((select app.deals_as('broker', 'seller'))::uuid[]) as told from deals d where d.id = $1`,
);

/** Whether the caller may know who opened the documents of a deal. */
export const isToldOfOpenings = (dealId: string): Statement<boolean> =>
  mapped(onItsSide(dealId), (found) => found?.told ?? false);

const toClear = rows<{ key: string }, []>('bodies_to_clear', 'select key from app.bodies_to_clear() key');

/**
 * Storage keys of bodies that are no longer needed, at most 500: of failed uploads, and of documents removed a week
 * ago.
 */
export const bodiesToClear = (): Statement<string[]> => mapped(toClear(), (found) => found.map(({ key }) => key));

const beginToClear = row<{ done: boolean }, [storageKey: string]>(
  'begin_to_clear',
  'select app.begin_to_clear($1) as done',
);

/** Notes that a body is about to be deleted from the store; false when a legal hold protects it by now. */
export const bodyGoes = (storageKey: string): Statement<boolean> =>
  mapped(beginToClear(storageKey), (found) => found?.done ?? false);

/** Notes that a body is no longer in the store. */
export const bodyCleared = row<unknown, [storageKey: string]>('body_cleared', 'select app.body_cleared($1)');

/** A document as the REST API and webhooks return it. */
export interface DocumentResource extends DocumentMetadata {
  deal_id: string;
  media_type: string;
  /** In hexadecimal digits; null if it was never computed. */
  sha256: string | null;
  diligence_request: string | null;
  /** Null when the caller may not see who uploaded the document. */
  uploaded_by_name: string | null;
}

const resourceColumns = (
  source: DocumentSource,
): string => `d.id, d.deal_id, '${source}' as source, d.filename, d.category,
  d.confidentiality, d.media_type, d.size_bytes::float8 as size_bytes, encode(d.sha256, 'hex') as sha256, d.uploaded_at,
  ${source === 'simple' ? 'null' : 'd.diligence_request'} as diligence_request, ${knownName('u')} as uploaded_by_name`;

const documentResourceOf = (source: DocumentSource): string =>
  orderedRows({
    columns: resourceColumns(source),
    tables: tablesOf(source),
    deal: 'd.deal_id',
    where: '($5::text is null or lower(d.category) = lower($5)) and ($6::text is null or d.confidentiality = $6)',
    key: 'd.uploaded_at',
    type: 'timestamptz',
    id: 'd.id',
    direction: 'desc',
  });

/**
 * The documents of a deal that the caller may open, newest first, in pages; optionally only those of a category or a
 * confidentiality.
 */
export const documentsOfDeal = listOfDeal<
  DocumentResource,
  [category: string | null, confidentiality: Confidentiality | null]
>(
  'documents_of_deal',
  `(${documentResourceOf('simple')}) union all (${documentResourceOf('production')}) order by uploaded_at desc, id desc limit $4`,
);

const oneResource = (source: DocumentSource): string =>
  `select ${resourceColumns(source)} from ${tablesOf(source)} where d.deal_id = $1 and d.id = $2`;

/** One document of a deal, or null when it does not exist or the caller may not open it. */
export const documentOfDeal = row<DocumentResource, [dealId: string, id: string]>(
  'document_of_deal',
  `${oneResource('simple')} union all ${oneResource('production')}`,
);

const byIds = (source: DocumentSource) =>
  recordsByIds<DocumentResource>(`${source}_documents_by_ids`, {
    columns: resourceColumns(source),
    tables: tablesOf(source),
    id: 'd.id',
  });

/**
 * The documents with these ids that the caller may open: uploaded to data rooms (`simple`), and produced for diligence
 * requests (`production`).
 */
export const documentsByIds = { simple: byIds('simple'), production: byIds('production') } as const;

/**
 * Returns where the body of a document is, and records that the calling API key opened it; with `readsOn`, the key
 * continues reading, which is not recorded again within an hour, and with null nothing is recorded. Null when the
 * document does not exist or the key may not open it.
 */
export const openDocumentWithKey = row<OpenedDocument, [id: string, readsOn: boolean | null]>(
  'open_document_with_key',
  'select filename, media_type, size_bytes, sha256, storage_key from app.open_document_with_key($1, $2)',
);

const addWithResource = (source: DocumentSource) => {
  const more = source === 'simple' ? '' : ', diligence_request';
  return row<DocumentResource>(
    `add_${source}_document_resource`,
    `with d as (
       insert into ${tables[source]} (${columns}${more}) values ($3, $4, $5, $6, $7, $8, $9, $10${source === 'simple' ? '' : ', $11'})
       returning id, deal_id, filename, category, confidentiality, media_type, size_bytes, sha256, uploaded_by, uploaded_at${more})
     select ${resourceColumns(source)} from d ${knownPerson('u', 'd.uploaded_by', 'd.deal_id')}
     ${audited('document.upload', {
       subject: 'd.id',
       deal: 'd.deal_id',
       details: `jsonb_build_object('source', '${source}', 'confidentiality', d.confidentiality)`,
     })}`,
  );
};
const addSimpleResource = addWithResource('simple');
const addProductionResource = addWithResource('production');

/** Adds a document as {@link addDocument} does, and returns it as {@link documentsOfDeal} does. */
export function addDocumentResource(
  dealId: string,
  { filename, category, confidentiality, size, mediaType, sha256, storageKey }: NewDocument,
  diligenceRequest: string | null,
  origin: Origin,
): Statement<DocumentResource | null> {
  const values = [dealId, filename, category, confidentiality, size, mediaType, sha256, storageKey];
  return diligenceRequest === null
    ? addSimpleResource(...from(origin), ...values)
    : addProductionResource(...from(origin), ...values, diligenceRequest);
}
