/**
 * Authenticates API keys. Checks, in this order: the limits of the address, the key itself, the limits of the key, its
 * scopes.
 */

import type { Context } from 'hono';
import type { Services } from '../services.ts';
import type { Database } from '../database/database.ts';
import { Invalid } from '../database/errors.ts';
import type { Statement } from '../database/statement.ts';
import {
  apiKeyDigest,
  enterWithApiKey,
  requireKeyScopes,
  type KeyCaller,
  type KeyQuestion,
} from '../domain/clients/api-keys.ts';
import type { KeyScope } from '../domain/clients/key-scopes.ts';
import type { DealScope } from '../domain/visibility/deal-scope.ts';
import { bearerToken } from '../http/bearer-token.ts';
import { addressGroup, clientAddress } from '../http/client-address.ts';
import type { Count } from '../http/limits.ts';
import { openTokenHolders } from '../http/token-holder-cache.ts';
import { Problem } from '../http/problem.ts';
import { insufficientScope, rateLimited, unauthorized } from './envelope.ts';

/** Scopes that a key must have: one, all of several, or, with null, none. */
export type Scopes = KeyScope | readonly KeyScope[] | null;

/** A request that was counted for its key, but whose key is not checked yet. */
export interface Entry {
  /** Digest of the presented key. */
  readonly digest: Buffer;
  /** Authenticates the transaction with the key: its first statement. Its result is for {@link admit}. */
  readonly enter: Statement<KeyCaller | null>;
  /**
   * A statement that is denied to a key that lacks a scope: to be placed after {@link enter} and before the first
   * change. {@link admit} checks only when the transaction has ended, and the change is made.
   */
  readonly carries: Statement<unknown>;
  /** Returns the authenticated key. Throws a problem of 401 when there is none, of 403 when it lacks a scope. */
  readonly admit: (found: KeyCaller | null) => KeyCaller;
  /** Looks the key up in the database, and throws as {@link admit} does. */
  readonly check: () => Promise<void>;
  /** Reads the request. An error of `read` is reported only to a key with the scopes, except an exceeded limit. */
  readonly reading: <T>(read: () => T | Promise<T>) => Promise<T>;
  /** The key's limit of requests per minute. */
  readonly ceiling: number;
  /** Counts `more` further requests for the key. Throws a problem of 429 when they exceed its limit. */
  readonly count: (more: number) => Promise<void>;
}

/**
 * Called with the digest of the key and each error that occurs after the request was counted for the key, before the
 * error is rethrown. Not called for a 401 or an exceeded limit.
 */
export type FailureRecorder = (digest: Buffer, fault: unknown) => Promise<void>;

interface EntryOptions {
  readonly onFailure?: FailureRecorder | undefined;
  /**
   * The deal, or the record of a deal, that the request is about: of all that the key can access, nothing else is
   * considered. Not for a query that authenticates by itself.
   */
  readonly within?: DealScope | null | undefined;
}

/**
 * Runs a query for the key with this digest, in one transaction and one round trip; `entering` authenticates for
 * queries that do not do so by themselves.
 */
export async function askForKey<T>(
  database: Database,
  digest: Buffer,
  question: KeyQuestion<T>,
  entering = enterWithApiKey(digest),
): Promise<{ caller: KeyCaller | null; answer: T }> {
  if ('enter' in question) return database.run(question.enter(digest));
  const [caller, answer] = await database.together(entering, question);
  return { caller, answer };
}

export interface Callers {
  /**
   * Runs the query that `read` derives from the request, as its key, both in one round trip and one transaction. Errors
   * of `read` are reported only to a key with the scopes. Throws a problem of 401, 403 or 429.
   */
  ask<T>(
    c: Context,
    scopes: Scopes,
    read: () => KeyQuestion<T> | Promise<KeyQuestion<T>>,
    more?: EntryOptions,
  ): Promise<{ caller: KeyCaller; answer: T }>;
  /** Does `work` for a request once it is counted for its key. Throws a problem of 401, 403 or 429. */
  enter<T>(c: Context, scopes: Scopes, work: (entry: Entry) => Promise<T>, more?: EntryOptions): Promise<T>;
}

function limited(count: Count, who: string): Problem {
  const message = `Too many requests from this ${who}: at most ${count.limit} a minute. Try again in ${count.retryAfter} s.`;
  return rateLimited(message, count.retryAfter, { details: { limit: count.limit } });
}

/** A request over its limit costs no more than counting it: it causes no database query and leaves no record. */
const isOverLimit = (fault: unknown): boolean => fault instanceof Problem && fault.code === 'rate_limited';

/** The digest of the API key that a request presents; the request is known to have one. */
export function digestOfKey(c: Context): Buffer {
  const digest = apiKeyDigest(bearerToken(c) ?? '');
  if (digest === null) throw unknownKey();
  return digest;
}

const missingKey = (): Problem => unauthorized('Send an API key in the header Authorization: Bearer <key>.', false);

/** 401, the same for a key that is malformed, unknown, expired, revoked or replaced. */
export const unknownKey = (): Problem =>
  unauthorized('This API key is not valid: it is unknown, expired, revoked or replaced.', true);

const listed = (scopes: Scopes): readonly KeyScope[] =>
  scopes === null ? [] : typeof scopes === 'string' ? [scopes] : scopes;

/** Throws 403 when the key lacks a scope. */
function requireScopes(caller: KeyCaller, scopes: Scopes): void {
  const missing = listed(scopes).find((scope) => !caller.scopes.includes(scope));
  if (missing !== undefined) throw insufficientScope(missing);
}

/** There is no valid key for the presented token; not yet counted as a failure. */
class NoKey extends Error {}

/** The key to which a token belongs, and the key's own ceiling: neither ever changes. */
interface Holder {
  readonly keyId: string;
  readonly ceiling: number | null;
}

const holderOf = ({ key_id: keyId, ceiling }: KeyCaller): Holder => ({ keyId, ceiling });

/** Sets the rate limit headers to the state of the key's limit; null removes them. */
function setLimitHeaders(c: Context, count: Count | null): void {
  c.header('X-RateLimit-Limit', count?.limit.toString());
  c.header('X-RateLimit-Remaining', count?.remaining.toString());
  c.header('X-RateLimit-Reset', count?.resetAt.toString());
}

/** At most this many addresses whose keys have ceilings above the general one are remembered, for a minute. */
const mostRaised = 20_000;

/**
 * Authenticates the callers of the API: counts and limits requests, and supplies the key's statements of each
 * transaction.
 */
export function openCallers({ database, limits, config, clock }: Services): Callers {
  const holders = openTokenHolders<Holder>();
  let raisedIn = 0;
  /**
   * By address, the highest ceiling of the valid keys that it has presented in this minute, if above the general one.
   */
  let raised = new Map<string, number>();

  function raisedNow(): Map<string, number> {
    const minute = Math.floor(clock().getTime() / 60_000);
    if (minute !== raisedIn || raised.size >= mostRaised) raised = new Map();
    raisedIn = minute;
    return raised;
  }

  const ceilingOf = ({ ceiling }: Holder): number => ceiling ?? config.rateLimits.rest_key;

  /** Gives an address the highest ceiling of the valid keys that it presents. */
  function raise(c: Context, holder: Holder): void {
    const own = ceilingOf(holder);
    const address = addressGroup(clientAddress(c));
    const now = raisedNow();
    if (own > Math.max(config.rateLimits.rest_ip, now.get(address) ?? 0)) now.set(address, own);
  }

  const countAddress = (c: Context): Promise<Count> =>
    limits.take('rest_ip', clientAddress(c), raisedNow().get(addressGroup(clientAddress(c))));

  /**
   * Counts a request of an address that had used up its limit before this key was presented: the key's own ceiling may
   * be higher.
   */
  async function countWithKey(c: Context, digest: Buffer, refused: Count): Promise<Count> {
    const remembered = holders.get(digest);
    if (!remembered) {
      // Guessed keys must not cause database queries here.
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

  /**
   * Returns `fault`, or 429 for an address with too many failures. A valid key behind the same address is not blocked.
   */
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

  /**
   * Looks up the key with this digest in the database. Throws 401, or 429 after too many failures, when there is no
   * valid one.
   */
  async function enter(c: Context, digest: Buffer): Promise<KeyCaller> {
    try {
      return known(c, digest, await database.run(enterWithApiKey(digest)));
    } catch (fault) {
      throw await counted(c, fault);
    }
  }

  /** Remembers and returns the key found in the database for a digest. Throws {@link NoKey} when `found` is null. */
  function known(c: Context, digest: Buffer, found: KeyCaller | null): KeyCaller {
    if (found !== null) {
      holders.set(digest, holderOf(found));
      return found;
    }
    holders.forget(digest);
    setLimitHeaders(c, null);
    throw new NoKey();
  }

  /** Returns the error to throw: for {@link NoKey}, a failure of the address is counted. */
  const counted = async (c: Context, fault: unknown): Promise<unknown> =>
    fault instanceof NoKey ? failed(c, unknownKey()) : fault;

  /**
   * Counts the request for its key before any other database query: a key over its ceiling costs no more than counting.
   * `found` is the looked-up key if this node had not seen it before, otherwise null.
   */
  async function countForKey(c: Context, digest: Buffer): Promise<{ found: KeyCaller | null; holder: Holder }> {
    const remembered = holders.get(digest);
    const found = remembered ? null : await enter(c, digest);
    const holder = remembered ?? holderOf(found!);
    raise(c, holder);
    await take(c, holder, 1);
    return { found, holder };
  }

  /** Counts requests of a key. Throws 429 at the first request over its ceiling. */
  async function take(c: Context, { keyId, ceiling }: Holder, requests: number): Promise<void> {
    for (let n = 0; n < requests; n += 1) {
      const used = await limits.take('rest_key', keyId, ceiling ?? undefined);
      if (n === requests - 1 || !used.allowed) setLimitHeaders(c, used);
      if (!used.allowed) throw limited(used, 'API key');
    }
  }

  async function letIn<T>(
    c: Context,
    scopes: Scopes,
    work: (entry: Entry) => Promise<T>,
    { onFailure, within = null }: EntryOptions = {},
  ): Promise<T> {
    const digest = await digestOf(c);
    const { found: first, holder } = await countForKey(c, digest);
    const check = async (caller?: KeyCaller | null) => requireScopes(caller ?? (await enter(c, digest)), scopes);
    const entry: Entry = {
      digest,
      enter: enterWithApiKey(digest, within),
      carries: requireKeyScopes(listed(scopes)),
      admit(found) {
        const caller = known(c, digest, found);
        requireScopes(caller, scopes);
        return caller;
      },
      check,
      async reading(read) {
        try {
          return await read();
        } catch (fault) {
          if (!isOverLimit(fault)) await check(first);
          throw fault;
        }
      },
      ceiling: ceilingOf(holder),
      count: (more) => take(c, holder, more),
    };
    try {
      return await work(entry);
    } catch (thrown) {
      const fault = await counted(c, thrown);
      if (!(fault instanceof Problem && fault.status === 401) && !isOverLimit(fault)) await onFailure?.(digest, fault);
      throw fault;
    }
  }

  return {
    enter: letIn,
    ask(c, scopes, read, more) {
      const work = async ({ digest, enter: entering, admit, reading, check }: Entry) => {
        const query = await reading(read);
        const { caller, answer } = await askForKey(database, digest, query, entering).catch(async (fault: unknown) => {
          // Only a key with the scopes is told why the database rejects the query.
          if (fault instanceof Invalid) await check();
          throw fault;
        });
        return { caller: admit(caller), answer };
      };
      return letIn(c, scopes, work, more);
    },
  };
}
