/**
 * What API keys may do: the one list of scopes, which the database repeats (074_keys_on_deals.sql) and a test compares. Those that
 * have to do with deals, and so reach those alone that are open to the brokerage's keys, are named by app.deal_scopes().
 */
export const keyScopes = [
  'contacts:read',
  'contacts:write',
  'deals:read',
  'deals:write',
  'participants:read',
  'participants:write',
  'offers:read',
  'ndas:read',
  'questions:read',
  'documents:read',
  'documents:content',
  'documents:write',
  'qoe:read',
  'qoe:write',
  'conditions:read',
  'conditions:write',
  'findings:read',
  'financing:read',
  'events:read',
  'webhooks:read',
  'webhooks:write',
] as const;

export type KeyScope = (typeof keyScopes)[number];
