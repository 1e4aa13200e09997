/** The brokerages and deals of a world, with the participants of each deal and their roles. */

import { callers } from '../policies/scene.ts';
import type { DealRole, Model, ModelDeal, Part } from './model.ts';
import { pick, randomFrom } from './names.ts';

/** The callers who can sign in. */
export const people = callers.filter((caller) => caller !== 'API key' && caller !== 'nobody');
const strangers = ['stranger', 'stranger seller', 'stranger buyer'];
const sellers = ['kiosk seller', 'harbour seller', 'quiet seller'];
/** `people`, and people of whom the callers may not know. */
export const everybody = [...people, ...strangers, ...sellers];

/** A participant of a deal, active unless `more` says otherwise. */
export const joins = (person: string, role: DealRole, more: Partial<Part> = {}): Part => ({
  person,
  role,
  status: 'active',
  ...more,
});
const plain = { needsNda: true, ndas: {}, exclusive: null, places: {} } as const;

/**
 * The scene of docs/visibility.md and further deals; with a seed, also random deals in which anybody can have any role.
 */
export function modelOf(seed: string | null): Model {
  const scene: ModelDeal[] = [
    {
      ...plain,
      name: 'Corner bakery',
      brokerage: 'scene',
      admitted: true,
      state: 'diligence',
      parts: [
        joins('broker', 'broker'),
        joins('seller', 'seller'),
        joins('exclusive buyer', 'buyer'),
        joins('other buyer', 'buyer'),
        joins('new buyer', 'buyer'),
        ...['broker', 'seller', 'exclusive buyer', 'other buyer'].map((advises) =>
          joins(`${advises}'s advisor`, 'advisor', { advises }),
        ),
        joins('viewer', 'viewer'),
        joins('invited', 'buyer', { status: 'invited' }),
        joins('removed', 'broker', { status: 'removed' }),
      ],
      ndas: { 'exclusive buyer': 'active', 'other buyer': 'active' },
      exclusive: 'exclusive buyer',
      places: { 'exclusive buyer': 'editor' },
    },
    {
      ...plain,
      name: 'Print shop',
      brokerage: 'scene',
      state: 'listed',
      parts: [
        joins('broker', 'broker'),
        joins('seller', 'seller'),
        joins('viewer', 'viewer'),
        joins('exclusive buyer', 'buyer'),
        joins('other buyer', 'buyer'),
        joins('new buyer', 'buyer'),
      ],
      ndas: { 'exclusive buyer': 'sent', 'other buyer': 'revoked', 'new buyer': 'expired' },
    },
    { ...plain, name: 'Colleague draft', brokerage: 'scene', state: 'draft', parts: [joins('colleague', 'broker')] },
    {
      ...plain,
      name: 'Ferry kiosk',
      brokerage: 'scene',
      state: 'under_offer',
      needsNda: false,
      parts: [joins('colleague', 'broker'), joins('kiosk seller', 'seller'), joins('new buyer', 'buyer')],
    },
    {
      ...plain,
      name: 'Harbour draft',
      brokerage: 'scene',
      state: 'draft',
      parts: [joins('colleague', 'broker'), joins('harbour seller', 'seller'), joins('new buyer', 'buyer')],
    },
    {
      ...plain,
      name: 'Quiet sale',
      brokerage: 'scene',
      state: 'closing',
      parts: [
        joins('broker', 'broker'),
        joins('quiet seller', 'seller'),
        joins('other buyer', 'buyer'),
        joins('new buyer', 'buyer'),
        joins('exclusive buyer', 'buyer', { status: 'removed' }),
      ],
      ndas: { 'other buyer': 'active', 'new buyer': 'active', 'exclusive buyer': 'active' },
      exclusive: 'other buyer',
      places: { 'other buyer': 'reader', 'new buyer': 'editor' },
    },
    {
      ...plain,
      name: 'Elsewhere',
      brokerage: 'elsewhere',
      state: 'diligence',
      parts: [joins('stranger', 'broker'), joins('stranger seller', 'seller'), joins('stranger buyer', 'buyer')],
      ndas: { 'stranger buyer': 'active' },
      exclusive: 'stranger buyer',
      places: { 'stranger buyer': 'editor' },
    },
  ];
  const members = {
    scene: { admin: 'admin', broker: 'broker', colleague: 'broker' },
    elsewhere: { stranger: 'admin' },
  } as const;
  return { members, deals: [...scene, ...(seed === null ? [] : randomDeals(seed))] };
}

function randomDeals(seed: string): ModelDeal[] {
  const random = randomFrom(`deals ${seed}`);
  return Array.from({ length: 3 }, (_, at): ModelDeal => {
    const shuffled = everybody.map((person) => ({ person, key: random() })).toSorted((a, b) => a.key - b.key);
    const [broker, seller, ...rest] = shuffled.map(({ person }) => person);
    const parts = [joins(broker!, 'broker'), joins(seller!, 'seller')];
    for (const person of rest.slice(0, 9)) {
      const role = pick(random, ['buyer', 'buyer', 'buyer', 'advisor', 'viewer', 'seller', 'broker'] as const);
      const status = pick(random, ['active', 'active', 'active', 'active', 'invited', 'removed'] as const);
      const advised = parts.filter((one) => one.role !== 'advisor');
      parts.push(joins(person, role, { status, ...(role === 'advisor' && { advises: pick(random, advised).person }) }));
    }
    const buyers = parts.filter(({ role, status }) => role === 'buyer' && status === 'active');
    const state = pick(random, [
      'draft',
      'listed',
      'under_offer',
      'exclusivity',
      'diligence',
      'closing',
      'withdrawn',
    ] as const);
    const selects = ['exclusivity', 'diligence', 'closing'].includes(state) && buyers.length > 0;
    const ndas = Object.fromEntries(
      buyers
        .filter(() => random() < 0.8)
        .map(({ person }) => [person, pick(random, ['active', 'active', 'sent', 'expired', 'revoked'] as const)]),
    );
    return {
      name: `Random ${at}`,
      brokerage: random() < 0.7 ? 'scene' : 'elsewhere',
      state: !selects && ['exclusivity', 'diligence', 'closing'].includes(state) ? 'under_offer' : state,
      needsNda: random() < 0.7,
      admitted: random() < 0.5,
      parts,
      ndas,
      exclusive: selects ? pick(random, buyers).person : null,
      places: Object.fromEntries(
        parts
          .filter(({ role }) => !['broker', 'seller'].includes(role) && random() < 0.4)
          .map(({ person }) => [person, pick(random, ['reader', 'editor'] as const)]),
      ),
    };
  });
}
