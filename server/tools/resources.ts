/**
 * Resources that a host can attach to a conversation by itself: the views of results, and the metadata of deals'
 * documents.
 */

import { ProtocolError, ProtocolErrorCode, type Resource } from '@modelcontextprotocol/server';
import {
  documentOfDeal,
  documentsAnywhere,
  type DocumentAnywhere,
  type DocumentMetadata,
  type DocumentPlace,
} from '../domain/documents/documents.ts';
import { dealPagePath } from '../http/links.ts';
import type { Sealer } from '../http/sealed-cursor.ts';
import { isUuid } from '../lib/uuid.ts';
import { svcDocumentsList } from './catalog/svc_documents_list.ts';
import { documentUri } from './document-links.ts';
import type { RequestContext } from './request-context.ts';
import { iconsOf } from './identity.ts';
import { shown } from './inputs.ts';
import { readAsTool } from './read-as-tool.ts';
import type { StaticResource } from './views.ts';

const mimeType = 'application/json';

/** Number of documents on a page of the list. */
export const documentsOnAPage = 50;

const list = 'mcp resources';

/** The same error for a missing resource, one that the caller may not see, and an invalid URI. */
const unknown = (uri: string): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `Unknown resource: ${shown(uri)}. resources/list names the resources.`,
    // SEP-2164: the URI, for a client that requested several.
    { uri: uri.slice(0, 1000) },
  );

const listed = ({ id, deal_id, filename, deal_title, uploaded_at }: DocumentAnywhere, baseUrl: string): Resource => ({
  uri: documentUri(deal_id, id),
  name: filename,
  title: filename,
  description: `Metadata of a document of the deal ${JSON.stringify(deal_title)}, never its contents.`,
  mimeType,
  annotations: { lastModified: uploaded_at },
  icons: iconsOf(baseUrl),
});

const place = ({ deal_id, id, deal_place, place: at }: DocumentPlace): Buffer =>
  Buffer.from(`${deal_id}${id}${deal_place}|${at}`);

function placeIn(bytes: Buffer): DocumentPlace | null {
  const text = bytes.toString('latin1');
  const [deal_id, id, times] = [text.slice(0, 36), text.slice(36, 72), text.slice(72)];
  const [deal_place, at, ...more] = times.split('|');
  const isTime = (time: string | undefined): time is string => /^[\d :.+-]{1,40}$/.test(time ?? '');
  return isUuid(deal_id) && isUuid(id) && isTime(deal_place) && isTime(at) && more.length === 0
    ? { deal_id, id, deal_place, place: at }
    : null;
}

/** The template of the documents' URIs. */
export const documentTemplate = (baseUrl: string) => ({
  uriTemplate: documentUri('{deal_id}', '{document_id}'),
  name: 'document',
  title: 'Document of a deal',
  description: 'Metadata of a document: name, category, size, date and who may open it; never its contents.',
  mimeType,
  icons: iconsOf(baseUrl),
});

/**
 * A page of the list: the views first, then the documents that the caller may open, of all deals, latest deal first.
 */
export async function listResources(
  context: RequestContext,
  views: readonly StaticResource[],
  sealerOf: () => Promise<Sealer>,
  cursor: string | undefined,
): Promise<{ resources: Resource[]; nextCursor?: string }> {
  const { services, holder } = context;
  const { baseUrl } = services.config;
  const reader = holder?.userId ?? '';
  const sealer = await sealerOf();
  let after: DocumentPlace | null = null;
  if (cursor !== undefined) {
    const unsealed = sealer.unseal(cursor);
    after = unsealed?.isFor(list, reader) ? placeIn(unsealed.place) : null;
    if (after === null)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        'This cursor does not belong to this list: send nextCursor from an earlier answer unchanged, or start without it.',
      );
  }
  const statement = documentsAnywhere(after, documentsOnAPage + 1);
  const found = await readAsTool(context, svcDocumentsList, { dealId: null, subjectId: null }, statement);
  const page = found.slice(0, documentsOnAPage);
  const last = found.length > page.length ? page.at(-1) : undefined;
  const fixed = after === null ? views.map((view) => ({ ...view.listed, icons: iconsOf(baseUrl) })) : [];
  return {
    resources: [...fixed, ...page.map((one) => listed(one, baseUrl))],
    ...(last ? { nextCursor: sealer.seal(list, reader, place(last)) } : {}),
  };
}

const address = new RegExp(`^${documentUri('([^/]{36})', '([^/]{36})')}$`);

/**
 * The contents of a resource. Rejects with a ProtocolError, the same for missing resources and those that the caller
 * may not see.
 */
export async function readResource(context: RequestContext, views: ReadonlyMap<string, StaticResource>, uri: string) {
  const view = views.get(uri);
  if (view) {
    const { mimeType: type, _meta } = view.listed;
    return { contents: [{ uri, mimeType: type, text: view.text, _meta }] };
  }
  const [, dealId = '', id = ''] = address.exec(uri)?.map((part) => part.toLowerCase()) ?? [];
  if (!isUuid(dealId) || !isUuid(id)) throw unknown(uri);
  const found = await readAsTool(context, svcDocumentsList, { dealId, subjectId: id }, documentOfDeal(dealId, id));
  if (found === null) throw unknown(uri);
  const { filename, category, confidentiality, size_bytes, uploaded_at, source, media_type } = found;
  const metadata: DocumentMetadata & Record<string, unknown> = {
    id,
    deal_id: dealId,
    filename,
    category,
    confidentiality,
    size_bytes,
    media_type,
    uploaded_at,
    source,
    url: context.services.config.baseUrl + dealPagePath('documents', dealId),
  };
  // Never cached: who may open a document can change at any time.
  return { contents: [{ uri, mimeType, text: JSON.stringify(metadata) }], ttlMs: 0, cacheScope: 'private' as const };
}
