import {
  infiniteQueryOptions,
  queryOptions,
  useMutation,
  useQueryClient,
  type InfiniteData,
} from '@tanstack/react-query';
import type { RequestQuery } from '../../../server/contract.ts';
import { address, api } from './client.ts';
import { keys } from './query-keys.ts';
import { restartRequest } from './refresh.ts';
import type { Contact, ContactInput, ContactPreview, Id, Items, SharedBounds } from './shapes.ts';
import { upload } from './upload.ts';

/** Maximum size of a file of contacts. */
export const largestContactFile: SharedBounds['largestContactFile']['words'] = '2 MB';
export const mostContactRows: SharedBounds['mostContactRows'] = 5000;
export const mostContactsAtOnce: SharedBounds['mostContactsAtOnce'] = 1000;

export type ContactFilter = Omit<RequestQuery<'get', '/web/contacts'>, 'brokerage_id' | 'cursor'>;

/** The contacts of a brokerage that match the filter, in pages. */
export const contactsQuery = (brokerageId: Id, filter: ContactFilter) =>
  infiniteQueryOptions({
    queryKey: keys.contacts(brokerageId, filter),
    queryFn: ({ pageParam, signal }) =>
      api.get('/web/contacts', {
        query: { brokerage_id: brokerageId, sort: 'display_name', limit: 200, ...filter, cursor: pageParam },
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor ?? null,
  });

/** A contact by its id. */
export const contactQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.contact(id),
    queryFn: ({ signal }) => api.get('/web/contacts/:id', { param: { id }, signal }),
  });

type Pages = InfiniteData<Items<Contact>>;

/** Mutations of a brokerage's contacts. */
export function useContactActions(brokerageId: Id) {
  const client = useQueryClient();
  const everyList = { queryKey: keys.contacts(brokerageId) };
  // At once, unlike changes by others: the person waits for it.
  const again = () => client.invalidateQueries(everyList);
  /** Shows a changed contact at once: when archived or restored, it is removed from the lists that contain it. */
  const show = (contact: Contact) =>
    client.setQueriesData<Pages>(
      everyList,
      (shown) =>
        shown && {
          ...shown,
          pages: shown.pages.map((page) => ({
            ...page,
            items: page.items.flatMap((one) => {
              if (one.id !== contact.id) return [one];
              return (one.archived_at === null) === (contact.archived_at === null) ? [contact] : [];
            }),
          })),
        },
    );
  const changed = (contact: Contact) => {
    show(contact);
    const { queryKey } = contactQuery(contact.id);
    client.setQueryData(queryKey, contact);
    restartRequest(client, queryKey);
    return again();
  };
  return {
    add: useMutation({
      mutationFn: (input: ContactInput) => api.post('/web/contacts', { json: { ...input, brokerage_id: brokerageId } }),
      onSuccess: again,
    }),
    change: useMutation({
      mutationFn: ({ id, ...input }: Partial<ContactInput> & { id: Id }) =>
        api.patch('/web/contacts/:id', { param: { id }, json: input }),
      onSuccess: changed,
    }),
    archive: useMutation({
      mutationFn: (id: Id) => api.post('/web/contacts/:id/archive', { param: { id } }),
      onSuccess: changed,
    }),
    restore: useMutation({
      mutationFn: (id: Id) => api.post('/web/contacts/:id/restore', { param: { id } }),
      onSuccess: changed,
    }),
    putMany: useMutation({
      mutationFn: (chosen: { ids: Id[]; archived: boolean }) =>
        api.post('/web/contacts/archived', { json: { ...chosen, brokerage_id: brokerageId } }),
      onSuccess: ({ ids }) => {
        for (const id of ids) client.removeQueries(contactQuery(id));
        return again();
      },
    }),
    erase: useMutation({
      mutationFn: (id: Id) => api.post('/web/contacts/:id/erase', { param: { id } }),
      onSuccess: (_, id) => {
        client.removeQueries(contactQuery(id));
        return again();
      },
    }),
    importFile: useMutation({
      mutationFn: (file: File) =>
        upload('/web/contacts/import', file, { query: { brokerage_id: brokerageId, skip_faults: 'true' } }),
      onSuccess: again,
    }),
  };
}

/** The content and the errors of a file; stores nothing. */
export const previewImport = (brokerageId: Id, file: File): Promise<ContactPreview> =>
  upload('/web/contacts/import/preview', file, { query: { brokerage_id: brokerageId } });

/** The URL of a file with the brokerage's contacts that match the search, the archived ones instead if asked for. */
export const contactsExport = (brokerageId: Id, { search, archived }: Pick<ContactFilter, 'search' | 'archived'>) =>
  address('/web/contacts/export', { query: { brokerage_id: brokerageId, search, archived } });
