/** Who may call, and how often: checks the access token of a request and the rate limits. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import { callersDocument } from '../domain/clients/authorization.ts';
import type { TakenDocuments } from '../domain/clients/connected-clients.ts';
import { accessTokenDigest, type TokenCaller } from '../domain/clients/tokens.ts';
import { bearerToken } from '../http/bearer-token.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { Problem, retryAfter } from '../http/problem.ts';
import { bearerChallenge, type CalledPath } from '../http/resource-metadata.ts';
import type { RequestContext, Holder } from './request-context.ts';

/**
 * A 401 that tells a client where to get a token (RFC 9728, section 5.1). The body always says invalid_token
 * (specification, section 7.2); the challenge says it only when a token was sent (RFC 6750, section 3.1).
 */
export function unauthorized(services: Services, path: CalledPath, error?: 'invalid_token'): Problem {
  const message = error
    ? 'The access token is unknown, expired or revoked: refresh it, or authorize again.'
    : 'Send an access token in the header Authorization: Bearer <token>; WWW-Authenticate says where to get one.';
  const challenge = bearerChallenge({ baseUrl: services.config.baseUrl, path, ...(error ? { error } : {}) });
  return new Problem(401, 'invalid_token', message, { headers: { 'WWW-Authenticate': challenge } });
}

/**
 * The digest of the request's token. Throws a problem of 401 without a token; tokens in the URL, API keys and cookies
 * are not accepted.
 */
export function presentedDigest(c: Context, services: Services, path: CalledPath): Buffer {
  const presented = bearerToken(c);
  if (!presented) throw unauthorized(services, path);
  const digest = accessTokenDigest(presented);
  if (digest === null) throw unauthorized(services, path, 'invalid_token');
  return digest;
}

/**
 * The caller; queries the database unless it has been asked already. Throws a problem of 401 when the token is not
 * valid.
 */
export async function admit(context: RequestContext, path: CalledPath): Promise<TokenCaller> {
  const caller = context.caller === undefined ? await context.services.database.run(context.enter()) : context.caller;
  if (caller === null) throw unauthorized(context.services, path, 'invalid_token');
  return caller;
}

/**
 * Throws a problem of 401 for a client by its document that is not accepted: it was connected under other settings of
 * the service.
 */
export async function checkDocument(
  { services, enter }: RequestContext,
  path: CalledPath,
  isTaken: NonNullable<TakenDocuments>,
): Promise<void> {
  const [, url] = await services.database.together(enter(), callersDocument());
  if (url !== null && !isTaken(url)) throw unauthorized(services, path, 'invalid_token');
}

const tooManyBadTokens = ({ retryAfter: seconds }: Count): Problem =>
  new Problem(
    429,
    'rate_limited',
    `Too many access tokens from this address are unknown, expired or revoked: try again in ${seconds} s.`,
    retryAfter(seconds),
  );

/**
 * How many bad tokens of an address are looked up in the database: twice as many as are answered with 401, so that good
 * tokens from the same address continue to work meanwhile.
 */
const mostLookUps = ({ config }: Services): number => 2 * config.rateLimits.tools_auth_failure_ip;

/** Throws a problem of 429 when this address has sent so many bad tokens that no further one is looked up. */
export async function checkLookUps(services: Services, c: Context): Promise<void> {
  const count = await services.limits.peek('tools_auth_failure_ip', clientAddress(c), mostLookUps(services));
  if (!count.allowed) throw tooManyBadTokens(count);
}

/** Counts a bad token for its address. Returns `fault`, or a problem of 429 when there were too many. */
export async function badToken(services: Services, c: Context, fault: Problem): Promise<Problem> {
  const count = await services.limits.take('tools_auth_failure_ip', clientAddress(c), mostLookUps(services));
  const before = count.limit - count.remaining;
  return count.allowed && before <= services.config.rateLimits.tools_auth_failure_ip ? fault : tooManyBadTokens(count);
}

/** How many messages of a request are calls, and how many are not. */
export interface Asked {
  readonly calls: number;
  readonly others: number;
}

/** Counts `times` calls, at least one, under this key. Returns the rate-limit headers. Throws a problem of 429. */
async function countTimes({ limits }: Services, key: string, times: number): Promise<Record<string, string>> {
  let count = await limits.take('tools', key);
  for (let more = 1; more < times && count.allowed; more += 1) count = await limits.take('tools', key);
  const headers = {
    'X-RateLimit-Limit': String(count.limit),
    'X-RateLimit-Remaining': String(count.remaining),
    'X-RateLimit-Reset': String(count.resetAt),
  };
  if (count.allowed) return headers;
  throw new Problem(429, 'rate_limited', `At most ${count.limit} calls a minute: try again in ${count.retryAfter} s.`, {
    headers: { ...headers, ...retryAfter(count.retryAfter).headers },
  });
}

/**
 * Counts the messages of a request, per person and client: calls, and separately all others. Returns the rate-limit
 * headers, those of the calls if there are any. Throws a problem of 429.
 */
export async function countAsked(
  services: Services,
  { userId, clientId }: Holder,
  { calls, others }: Asked,
): Promise<Record<string, string>> {
  const key = `${userId} ${clientId}`;
  const countOthers = () => countTimes(services, `${key} other`, others);
  if (calls === 0) return countOthers();
  const left = await countTimes(services, key, calls);
  if (others > 0) await countOthers();
  return left;
}
