/** The keys of cached responses. A live event names a topic and a deal; everything under their keys is refetched. */
import type { Id, Topic } from './shapes.ts';

export const keys = {
  me: ['me'] as const,
  home: ['home'] as const,
  deals: ['deals'] as const,
  /** The page of one deal: state, participants, capacities, counts. */
  deal: (id: Id) => ['deal', id] as const,
  /** A part of a deal: `keys.of(id, 'questions', {status})`. */
  of: (id: Id, topic: Topic | 'activity' | 'keys' | 'reminders', ...rest: unknown[]) =>
    ['deal', id, topic, ...rest] as const,
  /** Offers compared, and measured against the books and the financing sources. */
  comparedOffers: (id: Id, ...rest: unknown[]) => ['deal', id, 'offers', 'compared', ...rest] as const,
  contacts: (...rest: unknown[]) => ['contacts', ...rest] as const,
  contact: (id: Id) => ['contacts', 'one', id] as const,
  /** The person's notifications, and the number of unread ones. */
  notifications: (...rest: unknown[]) => ['notifications', ...rest] as const,
  settings: (...rest: unknown[]) => ['settings', ...rest] as const,
  /** The person's visit to a tab of a deal. */
  visits: (...rest: unknown[]) => ['visits', ...rest] as const,
};
