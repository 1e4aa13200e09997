import { infiniteQueryOptions, queryOptions, useMutation, useQueryClient } from '@tanstack/react-query';
import { toastError } from '../components/toast.tsx';
import { api } from './client.ts';
import { useOptimistic } from './optimistic.ts';
import { keys } from './query-keys.ts';
import type {
  DealNotificationDelivery,
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
  };
}
