/** Where a notification leads: the page of what it is about. */
import type { Notification } from '../api/shapes.ts';

export const dealPlaces = {
  deal: '/deals/$dealId',
  questions: '/deals/$dealId/questions',
  nda: '/deals/$dealId/nda',
  documents: '/deals/$dealId/documents',
  offers: '/deals/$dealId/offers',
  closing: '/deals/$dealId/closing',
  findings: '/deals/$dealId/findings',
  people: '/deals/$dealId/people',
} as const satisfies Partial<Record<Notification['place'], string>>;

export const accountPlaces = {
  clients: '/settings/clients',
  keys: '/settings/keys',
  security: '/settings/security',
} as const satisfies Partial<Record<Notification['place'], string>>;
