/** The client for the Dealkeep REST API. */

export { Dealkeep, etagOf, type FollowInput } from './core.ts';
export type { CallOptions, DealkeepOptions } from './options.ts';
export * from './errors.ts';
export * from './webhooks.ts';
export type * from './generated.ts';
