/** Lets an API key in: limits by address, the key itself, limits by key, and its scopes, in this order. */

import type { Context } from 'hono';
import type { House } from '../context.ts';
import type { Statement } from '../database/statement.ts';
import { apiKeyDigest, enterWithApiKey, type KeyCaller, type KeyScope } from '../domain/api-keys.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { Fault, insufficientScope, unauthorized } from './envelope.ts';

const bearer = /^Bearer +(\S+) *$/i;

export interface Callers {
  /**
   * Answers the query that `read` makes of the request, to its key, both in one round trip. What `read` throws is told
   * to none but a key with the scope. Throws a fault of 401, 403 or 429.
   */
  ask<T>(c: Context, scope: KeyScope, read: () => Statement<T>): Promise<{ caller: KeyCaller; answer: T }>;
  /** The key of this request, counted, before anything is done for it: for what changes something. */
  admit(c: Context): Promise<{ caller: KeyCaller; digest: Buffer }>;
}

function limited(count: Count, who: string): Fault {
  const message = `Too many requests from this ${who}: at most ${count.limit} a minute. Try again in ${count.retryAfter} s.`;
  return new Fault(429, 'rate_limited', message, {
    details: { limit: count.limit, retry_after: count.retryAfter },
    headers: { 'Retry-After': String(count.retryAfter) },
  });
}

const missingKey = (): Fault => unauthorized('Send an API key in the header Authorization: Bearer <key>.', false);

/** 401, the same for a key that is malformed, unknown, expired, revoked or replaced. */
export const unknownKey = (): Fault =>
  unauthorized('This API key is not valid: it is unknown, expired, revoked or replaced.', true);

/** Throws 403 when the key lacks the scope. */
export function requireScope(caller: KeyCaller, scope: KeyScope): void {
  if (!caller.scopes.includes(scope)) throw insufficientScope(scope);
}

export function openCallers({ database, limits }: Pick<House, 'database' | 'limits'>): Callers {
  /** `fault`, or 429 to an address that has failed too often. A good key behind the same address is not held up. */
  async function failed(c: Context, fault: Fault): Promise<Fault> {
    const count = await limits.take('rest_auth_failure_ip', clientAddress(c));
    return count.allowed ? fault : limited(count, 'address');
  }

  async function digestOf(c: Context): Promise<Buffer> {
    const count = await limits.take('rest_ip', clientAddress(c));
    if (!count.allowed) throw limited(count, 'address');
    const header = c.req.header('authorization');
    if (header === undefined) throw await failed(c, missingKey());
    const digest = apiKeyDigest(bearer.exec(header)?.[1] ?? '');
    if (digest === null) throw await failed(c, unknownKey());
    return digest;
  }

  async function counted(c: Context, caller: KeyCaller | null): Promise<KeyCaller> {
    if (caller === null) throw await failed(c, unknownKey());
    const used = await limits.take('rest_key', caller.key_id, caller.ceiling ?? undefined);
    c.header('X-RateLimit-Limit', String(used.limit));
    c.header('X-RateLimit-Remaining', String(used.remaining));
    c.header('X-RateLimit-Reset', String(used.resetAt));
    if (!used.allowed) throw limited(used, 'API key');
    return caller;
  }

  /** The key alone: also what comes to nothing counts. */
  async function enterAndCount(c: Context, digest: Buffer): Promise<KeyCaller> {
    return counted(c, await database.run(enterWithApiKey(digest)));
  }

  return {
    async ask(c, scope, read) {
      const digest = await digestOf(c);
      let query;
      try {
        query = read();
      } catch (fault) {
        requireScope(await enterAndCount(c, digest), scope);
        throw fault;
      }
      const [found, answer] = await database.together(enterWithApiKey(digest), query).catch(async (error: unknown) => {
        await enterAndCount(c, digest);
        throw error;
      });
      const caller = await counted(c, found);
      requireScope(caller, scope);
      return { caller, answer };
    },
    async admit(c) {
      const digest = await digestOf(c);
      return { caller: await enterAndCount(c, digest), digest };
    },
  };
}
