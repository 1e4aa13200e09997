/**
 * The scopes of API keys: the authoritative list, which the database repeats (074_keys_on_deals.sql) and a test
 * compares. app.deal_scopes() names the scopes that concern deals; with these a key can only access the deals that are
 * open to the brokerage's keys.
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
