/**
 * API keys of a brokerage: who may call the REST API, at which rate, and as which tenant (specification, section 5.1).
 */

import { hash, randomBytes } from 'node:crypto';
import { entering, mapped, row, rows, type Statement, type Value } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import { nameInBrokerage } from '../people/former-names.ts';
import type { DealScope } from '../visibility/deal-scope.ts';
import type { KeyScope } from './key-scopes.ts';

export type KeyEnvironment = 'live' | 'test';

export const keyEnvironments: readonly KeyEnvironment[] = ['live', 'test'];

/** A new token, to be shown once, and what is stored of it. */
export interface MintedToken {
  token: string;
  digest: Buffer;
  lastFour: string;
}

const wellFormed = /^dk_(?:live|test)_[0-9a-f]{32}$/;

/** A token of 128 random bits: `dk_live_` or `dk_test_`, followed by 32 lower-case hexadecimal characters. */
export function mintApiKey(environment: KeyEnvironment): MintedToken {
  const token = `dk_${environment}_${randomBytes(16).toString('hex')}`;
  return { token, digest: hash('sha256', token, 'buffer'), lastFour: token.slice(-4) };
}

/** Whether a known token belongs to a test key. */
export const isTestKey = (token: string): boolean => token.startsWith('dk_test_');

/**
 * The SHA-256 digest of a token; null when it does not have our format, so that the database is not asked for a token
 * that cannot exist.
 */
export function apiKeyDigest(token: string): Buffer | null {
  return wellFormed.test(token) ? hash('sha256', token, 'buffer') : null;
}

/** The API key that is calling. `ceiling` is its own limit in requests per minute, or null. */
export interface KeyCaller {
  key_id: string;
  /** For a test key, the sandbox. */
  brokerage_id: string;
  scopes: KeyScope[];
  ceiling: number | null;
}

const enter = row<KeyCaller>(
  'enter_with_api_key',
  'select key_id, brokerage_id, scopes, ceiling from app.enter_with_api_key($1, $2, $3)',
);

/**
 * Enters the transaction as the key with this digest; null when no key in force has it. `within` restricts the
 * transaction to one of the key's deals.
 */
export const enterWithApiKey = (digest: Buffer, within: DealScope | null = null): Statement<KeyCaller | null> =>
  entering(digest, enter(digest, within?.table, within?.id));

/** A query for an API key that one statement both enters and answers. */
export interface AskedByKey<T> {
  /** Like {@link enterWithApiKey}; `answer` is only meaningful for a key with the required scopes. */
  readonly enter: (digest: Buffer) => Statement<{ readonly caller: KeyCaller | null; readonly answer: T }>;
}

/** A query for an API key, of either form. */
export type KeyQuestion<T> = Statement<T> | AskedByKey<T>;

/** The same query, with its answer passed through `f`. */
export const mappedQuestion = <A, B>(question: KeyQuestion<A>, f: (answer: A) => B): KeyQuestion<B> =>
  'enter' in question
    ? {
        enter: (digest) => mapped(question.enter(digest), ({ caller, answer }) => ({ caller, answer: f(answer) })),
      }
    : mapped(question, f);

/**
 * Declares a call of a database function that enters with the digest $1 and returns one text: the key's id, brokerage,
 * scopes and ceiling, then the parts that `read` converts, all separated by `mark`. The text is null when no key in
 * force has the digest.
 */
export function askedByKey(name: string, call: string) {
  // The statement yields a row only if the key is accepted.
  const declared = row<{ answer: string }>(
    name,
    `select e.answer from (select ${call} as answer offset 0) e where e.answer is not null`,
  );
  return <T>(mark: string, values: readonly Value[], read: (parts: string[]) => T): AskedByKey<T> => ({
    enter: (digest) =>
      mapped(entering(digest, declared(digest, ...values)), (found) => {
        if (found === null) return { caller: null, answer: read([]) };
        const [key_id = '', brokerage_id = '', scopes = '', ceiling = '', ...parts] = found.answer.split(mark);
        const caller = {
          key_id,
          brokerage_id,
          scopes: scopes.split(' ') as KeyScope[],
          ceiling: ceiling === '' ? null : Number(ceiling),
        };
        return { caller, answer: read(parts) };
      }),
  });
}

/** The data that a key may read about itself. `ceiling` is its own limit in requests per minute, or null. */
interface CallingKey {
  id: string;
  name: string;
  environment: KeyEnvironment;
  lastFour: string;
  scopes: KeyScope[];
  ceiling: number | null;
  expiresAt: string | null;
  /** For a test key, the sandbox and its name. */
  brokerageId: string;
  brokerageName: string;
}

/** The calling key; null without one. */
export const callingApiKey = row<CallingKey, []>(
  'calling_key',
  `select id, name, environment, last_four as "lastFour", scopes, ceiling, expires_at as "expiresAt",
     brokerage_id as "brokerageId", brokerage_name as "brokerageName" from app.calling_key()`,
);

export interface ApiKey {
  id: string;
  brokerage_id: string;
  name: string;
  environment: KeyEnvironment;
  scopes: KeyScope[];
  ceiling: number | null;
  last_four: string;
  expires_at: string | null;
  created_by_name: string | null;
  created_at: string;
  /** The last four characters of the token before the last rotation, and until when it remains valid. */
  previous_last_four: string | null;
  previous_valid_until: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  /**
   * `stopped`: the person who was given the token has left, is suspended, or lacks the second factor that the brokerage
   * requires.
   */
  state: 'active' | 'stopped' | 'expired' | 'revoked';
  /** Who was last shown a token of the key: it works while they are in the brokerage. */
  works_through: string | null;
  /** The scopes that it has now: fewer once that person is no longer an admin. Null while it does not work. */
  scopes_in_force: KeyScope[] | null;
}

/** SQL: the state of an API key `k`. */
export const stateOfKey = `case when k.revoked_at is not null then 'revoked' when k.expires_at <= app.now() then 'expired'
       when app.is_key_in_force(k.id) then 'active' else 'stopped' end`;

const selectKeys = `select k.id, k.brokerage_id, k.name, k.environment, k.scopes, k.ceiling, k.last_four, k.expires_at,
     ${nameInBrokerage('u', 'k.created_by', 'k.brokerage_id')} as created_by_name, k.created_at, k.previous_last_four, k.previous_valid_until, k.revoked_at, k.last_used_at,
     ${stateOfKey} as state, ${nameInBrokerage('h', 'reach.issued_by', 'k.brokerage_id')} as works_through, reach.scopes_in_force
   from api_keys k left join users u on u.id = k.created_by
   left join lateral app.key_reach(k.id) reach on true left join users h on h.id = reach.issued_by`;

/**
 * The keys of a brokerage, those not revoked first, then newest first, at most 500; none unless the caller is one of
 * its admins.
 */
export const apiKeysOf = rows<ApiKey, [brokerageId: string]>(
  'api_keys_of',
  `${selectKeys} where k.brokerage_id = $1 order by k.revoked_at is not null, k.created_at desc, k.id desc limit 500`,
);

/** One key, or null. */
export const apiKey = row<ApiKey, [id: string]>('api_key', `${selectKeys} where k.id = $1`);

interface NewApiKey {
  brokerageId: string;
  name: string;
  environment: KeyEnvironment;
  scopes: readonly KeyScope[];
  /** Requests per minute, or null for the default limit. */
  ceiling: number | null;
  /** RFC 3339, or null for a key that does not expire. */
  expiresAt: string | null;
}

const create = row<{ id: string }>(
  'create_api_key',
  'select app.create_api_key($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as id',
);

/**
 * Creates a key and returns its id. Rejected with `not_an_admin` unless the caller is an admin of the brokerage, signed
 * in to the web application, and with `too_many_api_keys` beyond 200 keys in force.
 */
export function createApiKey(key: NewApiKey, minted: MintedToken, from: Origin): Statement<string> {
  const { brokerageId, name, environment, scopes, ceiling, expiresAt } = key;
  const { digest, lastFour } = minted;
  return mapped(
    create(brokerageId, name, environment, scopes, ceiling, expiresAt, digest, lastFour, from.address, from.requestId),
    (made) => made?.id ?? '',
  );
}

const rotate = row(
  'rotate_api_key',
  `select app.rotate_api_key($1, make_interval(secs => $2::double precision), $3, $4, $5, $6)`,
);

/**
 * Gives a key a new token; the earlier ones remain valid for `overlapSeconds` (0 to 30 days). Rejected with
 * `api_key_not_found` or `api_key_ended`.
 */
export function rotateApiKey(
  id: string,
  overlapSeconds: number,
  minted: MintedToken,
  from: Origin,
): Statement<unknown> {
  return rotate(id, overlapSeconds, minted.digest, minted.lastFour, from.address, from.requestId);
}

const revoke = row('revoke_api_key', 'select app.revoke_api_key($1, $2, $3)');

/** Revokes a key, on every node from the next request on. Rejected with `api_key_not_found`. */
export function revokeApiKey(id: string, from: Origin): Statement<unknown> {
  return revoke(id, from.address, from.requestId);
}

const carry = row<unknown>(
  'carry_scopes',
  'select app.or_denied(app.key_brokerage(needed)) from unnest($1::text[]) needed',
);

/** Denied, which ends the transaction, unless the caller is a key with all these scopes. */
export const requireKeyScopes = (scopes: readonly KeyScope[]): Statement<unknown> => carry(scopes);

const act = row<unknown>('act_for_issuer', 'select app.act_for_issuer($1, $2, $3)');

/**
 * The rest of the transaction acts for the person who issued the calling key's token (with this digest), on one deal
 * and with that person's rights in it; in a sandbox for its broker. Denied to a key without the scope.
 */
export const actForIssuer = (digest: Buffer, scope: KeyScope, dealId: string): Statement<unknown> =>
  act(digest, scope, dealId);
