import { infiniteQueryOptions, queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { toastError } from '../components/toast.tsx';
import { onceSeen } from '../lib/user-activity.ts';
import { api } from './client.ts';
import { useOptimistic } from './optimistic.ts';
import { keys } from './query-keys.ts';
import type {
  DealNotificationDelivery,
  DealPlace,
  NotificationDelivery,
  Id,
  NotificationChoices,
  NotificationKind,
} from './shapes.ts';

/** The number of unread notifications, at most 100, and the person's time zone; null until it is set. */
export const unreadQuery = queryOptions({
  queryKey: keys.notifications('unread'),
  queryFn: ({ signal }) => api.get('/web/notifications/unread', { signal }),
});

/** The person's notifications, latest first. */
export const notificationsQuery = infiniteQueryOptions({
  queryKey: keys.notifications('list'),
  queryFn: ({ pageParam, signal }) => api.get('/web/notifications', { query: { cursor: pageParam }, signal }),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor ?? null,
});

/** The person's notification settings. */
export const notificationChoicesQuery = queryOptions({
  queryKey: keys.notifications('choices'),
  queryFn: ({ signal }) => api.get('/web/notifications/choices', { signal }),
});

/** When the person created their calendar link. */
export const calendarLinkQuery = queryOptions({
  queryKey: keys.notifications('calendar'),
  queryFn: ({ signal }) => api.get('/web/notifications/calendar', { signal }),
});

/** Creates the person's calendar link, which is shown only once, and removes it. */
export function useCalendarLink() {
  const client = useQueryClient();
  const again = () => client.invalidateQueries({ queryKey: keys.notifications('calendar') });
  return {
    make: useMutation({
      mutationFn: () => api.post('/web/notifications/calendar'),
      onSettled: again,
    }),
    remove: useMutation({
      mutationFn: () => api.delete('/web/notifications/calendar'),
      onSettled: again,
      onError: toastError,
    }),
  };
}

/** The person's notification setting for a deal. */
export const dealNotificationsQuery = (id: Id) =>
  queryOptions({
    queryKey: keys.notifications('deal', id),
    queryFn: ({ signal }) => api.get('/web/deals/:id/notifications', { param: { id }, signal }),
  });

/**
 * Marks the notifications about a deal as read that this page of it shows, once a person sees the page; null where none
 * are shown.
 */
export function useReadAt(dealId: Id, place: DealPlace | null): void {
  const client = useQueryClient();
  const unread = useQuery(unreadQuery).data?.count ?? 0;
  useEffect(() => {
    if (place === null || unread === 0) return undefined;
    const read = async () => {
      await api.post('/web/deals/:id/notifications/read', { param: { id: dealId }, json: { place } });
      void client.invalidateQueries({ queryKey: keys.notifications() });
    };
    // No message for the person: the bell goes on counting them.
    return onceSeen(() => void read().catch(() => {}));
  }, [client, dealId, place, unread]);
}

/** Marks notifications as read, and changes notification settings. */
export function useNotificationActions() {
  const client = useQueryClient();
  const again = () => client.invalidateQueries({ queryKey: keys.notifications() });
  const { queryKey } = notificationChoicesQuery;
  return {
    /** Without ids, marks all of them. */
    read: useMutation({
      mutationFn: (ids?: readonly Id[]) => api.post('/web/notifications/read', { json: ids ? { ids: [...ids] } : {} }),
      onSuccess: again,
      onError: toastError,
    }),
    choose: useOptimistic<NotificationChoices, { kind: NotificationKind; delivery: NotificationDelivery }, unknown>({
      queryKey,
      update: (choices, { kind, delivery }) => ({
        ...choices,
        kinds: choices.kinds.map((one) => (one.kind === kind ? { ...one, delivery } : one)),
      }),
      send: ({ kind, delivery }) =>
        api.put('/web/notifications/choices/:kind', { param: { kind }, json: { delivery } }),
    }),
    chooseDeal: useMutation({
      // Sent one after the other; otherwise an earlier choice could arrive last.
      scope: { id: 'notifications of a deal' },
      mutationFn: ({ dealId, delivery }: { dealId: Id; delivery: DealNotificationDelivery | null }) =>
        api.put('/web/deals/:id/notifications', { param: { id: dealId }, json: { delivery } }),
      onSettled: again,
      onError: toastError,
    }),
    set: useOptimistic<NotificationChoices, NonNullable<NotificationChoices['settings']>, unknown>({
      queryKey,
      also: [keys.notifications('unread')],
      update: (choices, settings) => ({ ...choices, settings }),
      send: (json) => api.put('/web/notifications/settings', { json }),
    }),
    /** The first settings. Nobody asked for them, so nothing is said when they are refused. */
    setFirst: useMutation({
      mutationFn: (json: NonNullable<NotificationChoices['settings']>) =>
        api.put('/web/notifications/settings', { json }),
      onSuccess: again,
    }),
  };
}
