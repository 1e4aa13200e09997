/** The keys under which answers are kept. A live event names a topic and a deal, and everything under those is asked again. */
import type { Id, Topic } from './shapes.ts';

export const keys = {
  me: ['me'] as const,
  home: ['home'] as const,
  deals: ['deals'] as const,
  /** One deal's page: state, people, capacities, counts. */
  deal: (id: Id) => ['deal', id] as const,
  /** Something of a deal: `keys.of(id, 'questions', {status})`. */
  of: (id: Id, topic: Topic | 'activity' | 'keys' | 'reminders', ...rest: unknown[]) =>
    ['deal', id, topic, ...rest] as const,
  /** What offers come to against the books and the sources of financing. */
  comparedOffers: (id: Id, ...rest: unknown[]) => ['deal', id, 'offers', 'compared', ...rest] as const,
  contacts: (...rest: unknown[]) => ['contacts', ...rest] as const,
  /** The person's notifications, and how many are new. */
  notifications: (...rest: unknown[]) => ['notifications', ...rest] as const,
  settings: (...rest: unknown[]) => ['settings', ...rest] as const,
  /** That the person looks at a tab of a deal. */
  visits: (...rest: unknown[]) => ['visits', ...rest] as const,
};
