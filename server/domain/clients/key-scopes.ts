/** What API keys may do: the one list of scopes, which the database repeats (074_keys_on_deals.sql) and a test compares. */

/** Every scope, and whether it has to do with deals: then it reaches those alone that are open to the brokerage's keys. */
const scopes = {
  'contacts:read': { onDeals: false },
  'contacts:write': { onDeals: false },
  'deals:read': { onDeals: true },
  'deals:write': { onDeals: true },
  'participants:read': { onDeals: true },
  'participants:write': { onDeals: true },
  'offers:read': { onDeals: true },
  'ndas:read': { onDeals: true },
  'questions:read': { onDeals: true },
  'documents:read': { onDeals: true },
  'documents:content': { onDeals: true },
  'documents:write': { onDeals: true },
  'qoe:read': { onDeals: true },
  'qoe:write': { onDeals: true },
  'conditions:read': { onDeals: true },
  'conditions:write': { onDeals: true },
  'findings:read': { onDeals: true },
  'financing:read': { onDeals: true },
  'events:read': { onDeals: false },
  'webhooks:read': { onDeals: false },
  'webhooks:write': { onDeals: false },
} as const;

export type KeyScope = keyof typeof scopes;

export const keyScopes = Object.keys(scopes) as readonly KeyScope[];

/** The scopes that reach deals. */
export const dealScopes: readonly KeyScope[] = keyScopes.filter((scope) => scopes[scope].onDeals);
