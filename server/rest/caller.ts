/** Lets an API key in: limits by address, the key itself, limits by key, and its scopes, in this order. */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import type { Statement } from '../database/statement.ts';
import { apiKeyDigest, enterWithApiKey, type KeyCaller, type KeyScope } from '../domain/clients/api-keys.ts';
import { bearerToken } from '../http/bearer-token.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { openHolders } from '../http/token-holders.ts';
import { Problem } from '../http/problem.ts';
import { insufficientScope, unauthorized } from './envelope.ts';

export interface Callers {
  /**
   * Answers the query that `read` makes of the request, to its key, both in one round trip and one transaction. What
   * `read` throws is told to none but a key with the scope. Throws a problem of 401, 403 or 429. `tell` hears first of
   * whatever else goes wrong once the key is counted, also of a 403, with the digest of the key.
   */
  ask<T>(
    c: Context,
    scope: KeyScope,
    read: () => Statement<T> | Promise<Statement<T>>,
    tell?: (digest: Buffer, fault: unknown) => Promise<void>,
  ): Promise<{ caller: KeyCaller; answer: T }>;
}

function limited(count: Count, who: string): Problem {
  const message = `Too many requests from this ${who}: at most ${count.limit} a minute. Try again in ${count.retryAfter} s.`;
  return new Problem(429, 'rate_limited', message, {
    details: { limit: count.limit, retry_after: count.retryAfter },
    headers: { 'Retry-After': String(count.retryAfter) },
  });
}

const missingKey = (): Problem => unauthorized('Send an API key in the header Authorization: Bearer <key>.', false);

/** 401, the same for a key that is malformed, unknown, expired, revoked or replaced. */
export const unknownKey = (): Problem =>
  unauthorized('This API key is not valid: it is unknown, expired, revoked or replaced.', true);

/** Throws 403 when the key lacks the scope. */
function requireScope(caller: KeyCaller, scope: KeyScope): void {
  if (!caller.scopes.includes(scope)) throw insufficientScope(scope);
}

/** Which key a token belongs to, and the key's own ceiling: neither ever changes. */
interface Holder {
  readonly keyId: string;
  readonly ceiling: number | null;
}

const holderOf = ({ key_id: keyId, ceiling }: KeyCaller): Holder => ({ keyId, ceiling });

/** Says in the headers where the request leaves its key; null takes that back. */
function tellLimit(c: Context, count: Count | null): void {
  c.header('X-RateLimit-Limit', count?.limit.toString());
  c.header('X-RateLimit-Remaining', count?.remaining.toString());
  c.header('X-RateLimit-Reset', count?.resetAt.toString());
}

/** The most addresses whose keys have ceilings above the general one that are remembered, for a minute. */
const mostRaised = 20_000;

export function openCallers({ database, limits, config, clock }: Services): Callers {
  const holders = openHolders<Holder>();
  let raisedIn = 0;
  /** By address, the highest ceiling of the good keys that it has presented in this minute, where that is above the general one. */
  let raised = new Map<string, number>();

  function raisedNow(): Map<string, number> {
    const minute = Math.floor(clock().getTime() / 60_000);
    if (minute !== raisedIn || raised.size >= mostRaised) raised = new Map();
    raisedIn = minute;
    return raised;
  }

  /** An address may ask as much as the best key that it presents. */
  function raise(c: Context, { ceiling }: Holder): void {
    const own = ceiling ?? config.rateLimits.rest_key;
    const address = addressGroup(clientAddress(c));
    const now = raisedNow();
    if (own > Math.max(config.rateLimits.rest_ip, now.get(address) ?? 0)) now.set(address, own);
  }

  const countAddress = (c: Context): Promise<Count> =>
    limits.take('rest_ip', clientAddress(c), raisedNow().get(addressGroup(clientAddress(c))));

  /** Counts a request of an address that has used up what it had before this key came: the key's own ceiling may be higher. */
  async function countWithKey(c: Context, digest: Buffer, refused: Count): Promise<Count> {
    const remembered = holders.get(digest);
    if (!remembered) {
      // Whoever tries keys is not let to look them up for that.
      if (!(await limits.peek('rest_auth_failure_ip', clientAddress(c))).allowed) return refused;
      await enter(c, digest).catch((fault: unknown) => {
        if (!(fault instanceof Problem)) throw fault;
      });
    }
    const holder = holders.get(digest);
    if (!holder) return refused;
    raise(c, holder);
    const before = refused.limit;
    const count = await countAddress(c);
    return count.limit > before ? count : refused;
  }

  /** `fault`, or 429 to an address that has failed too often. A good key behind the same address is not held up. */
  async function failed(c: Context, fault: Problem): Promise<Problem> {
    const count = await limits.take('rest_auth_failure_ip', clientAddress(c));
    return count.allowed ? fault : limited(count, 'address');
  }

  async function digestOf(c: Context): Promise<Buffer> {
    const token = bearerToken(c);
    const digest = token === null ? null : apiKeyDigest(token);
    let count = await countAddress(c);
    if (!count.allowed && digest !== null) count = await countWithKey(c, digest, count);
    if (!count.allowed) throw limited(count, 'address');
    if (token === null) throw await failed(c, missingKey());
    if (digest === null) throw await failed(c, unknownKey());
    return digest;
  }

  /** The key with this digest, from the database. Throws 401 when there is none that is good. */
  async function enter(c: Context, digest: Buffer): Promise<KeyCaller> {
    return known(c, digest, await database.run(enterWithApiKey(digest)));
  }

  /** What the database found for a digest, remembered. Throws 401 when that is nothing. */
  async function known(c: Context, digest: Buffer, found: KeyCaller | null): Promise<KeyCaller> {
    if (found !== null) {
      holders.set(digest, holderOf(found));
      return found;
    }
    holders.forget(digest);
    tellLimit(c, null);
    throw await failed(c, unknownKey());
  }

  /**
   * Counts the request for its key, before anything else is asked of the database: a key over its ceiling costs no more
   * than its counting. What was found of a key that this node had not seen before; null of one that it had.
   */
  async function countForKey(c: Context, digest: Buffer): Promise<KeyCaller | null> {
    const remembered = holders.get(digest);
    const found = remembered ? null : await enter(c, digest);
    const holder = remembered ?? holderOf(found!);
    const { keyId, ceiling } = holder;
    raise(c, holder);
    const used = await limits.take('rest_key', keyId, ceiling ?? undefined);
    tellLimit(c, used);
    if (!used.allowed) throw limited(used, 'API key');
    return found;
  }

  return {
    async ask(c, scope, read, tell) {
      const digest = await digestOf(c);
      const first = await countForKey(c, digest);
      try {
        let query;
        try {
          query = await read();
        } catch (fault) {
          requireScope(first ?? (await enter(c, digest)), scope);
          throw fault;
        }
        const [found, answer] = await database.together(enterWithApiKey(digest), query);
        const caller = await known(c, digest, found);
        requireScope(caller, scope);
        return { caller, answer };
      } catch (fault) {
        if (!(fault instanceof Problem && fault.status === 401)) await tell?.(digest, fault);
        throw fault;
      }
    },
  };
}
