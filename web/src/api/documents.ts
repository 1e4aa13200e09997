import { queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import type { RequestBody } from '../../../server/contract.ts';
import { address, api } from './client.ts';
import { keys } from './query-keys.ts';
import { refresh } from './refresh.ts';
import type { Confidentiality, DealDocument, Id, SharedBounds } from './shapes.ts';

export interface DocumentFilter {
  search: string;
  category: string;
  confidentiality: Confidentiality | '';
}

/** At most this many of each source are listed; searching finds others. */
export const mostDocumentsOfSource: SharedBounds['mostDocumentsOfSource'] = 2000;

/** The documents of a deal that match the filter. */
export const documentsQuery = (dealId: Id, filter: DocumentFilter) =>
  queryOptions({
    queryKey: keys.of(dealId, 'documents', filter),
    queryFn: ({ signal }) =>
      api.get('/web/deals/:id/documents', { param: { id: dealId }, query: { ...filter }, signal }),
  });

/** The longest list of {@link removedDocumentsQuery}. */
export const mostToRestore: SharedBounds['mostToRestore'] = 500;

/**
 * The removed documents of a deal that can still be restored. Each can for an hour, whose end causes no change event;
 * hence the refetching.
 */
export const removedDocumentsQuery = (dealId: Id) =>
  queryOptions({
    queryKey: keys.of(dealId, 'documents', 'removed'),
    queryFn: ({ signal }) => api.get('/web/deals/:id/documents/removed', { param: { id: dealId }, signal }),
    refetchInterval: ({ state }) => state.data !== undefined && state.data.items.length > 0 && 60_000,
  });

type NamedDocument = Pick<DealDocument, 'source' | 'id'>;

/** The path parameters of a document. */
const named = ({ source, id }: NamedDocument) => ({ param: { source, id } });

/** The longest list of {@link openingsQuery}. */
export const mostOpenings: SharedBounds['mostOpenings'] = 500;

/** The URL of a file with who opened which document of a deal, for its brokers and sellers. */
export const openingsExport = (dealId: Id): string =>
  address('/web/deals/:id/documents/openings', { param: { id: dealId } });

/** Who opened a document. */
export const openingsQuery = (dealId: Id, document: DealDocument) =>
  queryOptions({
    queryKey: keys.of(dealId, 'documents', 'openings', document.id),
    queryFn: ({ signal }) => api.get('/web/documents/:source/:id/openings', { ...named(document), signal }),
  });

/** The URL at which the browser downloads a document. */
export const contentOf = (document: DealDocument): string =>
  address('/web/documents/:source/:id/content', named(document));
/** The URL of a document's preview. */
export const previewOf = (document: DealDocument): string =>
  address('/web/documents/:source/:id/preview', named(document));

/** Mutations of a deal's documents; the lists are refetched. */
export function useDocumentActions(dealId: Id) {
  const client = useQueryClient();
  const onSuccess = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: keys.of(dealId, 'documents') }),
      client.invalidateQueries({ queryKey: keys.deal(dealId), exact: true }),
    ]);
  return {
    /** Refetches the lists after an upload; uploads in quick succession share a request. */
    uploaded: () => {
      void refresh(client, { queryKey: keys.of(dealId, 'documents') });
      void refresh(client, { queryKey: keys.deal(dealId), exact: true });
    },
    change: useMutation({
      mutationFn: ({
        document,
        ...change
      }: { document: DealDocument } & RequestBody<'patch', '/web/documents/:source/:id'>) =>
        api.patch('/web/documents/:source/:id', { ...named(document), json: change }),
      onSuccess,
    }),
    remove: useMutation({
      mutationFn: (document: DealDocument) => api.delete('/web/documents/:source/:id', named(document)),
      onSuccess,
    }),
    restore: useMutation({
      mutationFn: (document: NamedDocument) => api.post('/web/documents/:source/:id/restore', named(document)),
      onSuccess,
    }),
  };
}
