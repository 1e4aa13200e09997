/**
 * Access and refresh tokens of the tool server: opaque, stored as digests, rotated in families (specification, section
 * 3).
 */

import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import { entering, mapped, row, type Statement, type Value } from '../../database/statement.ts';
import { uuidV7 } from '../../database/uuid.ts';
import type { Scope } from './connected-clients.ts';
import type { Origin } from '../audit/audited.ts';
import type { DealScope } from '../visibility/deal-scope.ts';

/** Lifetime of an access token in seconds (specification, section 8). */
export const accessTokenSeconds = 3600;

const prefixes = { access: 'dka_', refresh: 'dkr_', code: 'dkc_' } as const;
type Kind = keyof typeof prefixes;

export interface MintedToken {
  readonly token: string;
  readonly digest: Buffer;
}

/** The two tokens of one response of the token endpoint. */
export interface MintedTokens {
  readonly access: MintedToken;
  readonly refresh: MintedToken;
}

/** Why no tokens were issued: error codes of RFC 6749, section 5.2, and RFC 8707, section 2. */
export type GrantFault = 'invalid_client' | 'invalid_grant' | 'invalid_target' | 'invalid_scope';

/** The SHA-256 digest under which a code or token is stored. */
export function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** A code or token of 256 random bits after the prefix of its kind, and the SHA-256 digest under which it is stored. */
export function mint(kind: Kind): MintedToken {
  const token = prefixes[kind] + randomBytes(32).toString('base64url');
  return { token, digest: digestOf(token) };
}

/** A new access token and a new refresh token, with their digests. */
export function mintTokens(): MintedTokens {
  return { access: mint('access'), refresh: mint('refresh') };
}

/**
 * The digest of a presented access token; null when it is malformed, so that the database is not asked for a token that
 * cannot exist.
 */
export function accessTokenDigest(presented: string): Buffer | null {
  return /^dka_[A-Za-z0-9_-]{43}$/.test(presented) ? digestOf(presented) : null;
}

// The sealed answer to a refresh, for the requests that overlap with it
// ------------------------------------------------

function sealingKey(presented: string): Buffer {
  return Buffer.from(hkdfSync('sha256', presented, '', 'dealkeep answer to a refresh', 32));
}

/**
 * Seals the tokens so that only a holder of the presented refresh token can open them: AES-256-GCM with a key derived
 * from that token by HKDF.
 */
function sealAnswer(presented: string, { access, refresh }: MintedTokens): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', sealingKey(presented), nonce);
  const sealed = Buffer.concat([cipher.update(`${access.token} ${refresh.token}`), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
}

/** Opens an answer of {@link sealAnswer}. Throws when it was sealed for another token. */
export function openAnswer(presented: string, sealed: Buffer): { access: string; refresh: string } {
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(presented), sealed.subarray(0, 12), {
    authTagLength: 16,
  });
  decipher.setAuthTag(sealed.subarray(12, 28));
  const [access = '', refresh = ''] = Buffer.concat([decipher.update(sealed.subarray(28)), decipher.final()])
    .toString()
    .split(' ');
  return { access, refresh };
}

// Rotating, revoking, entering ------------------------------------------------------------------------------------------

interface PresentedRefreshToken {
  readonly clientId: string;
  readonly token: string;
  readonly digest: Buffer;
  /** Narrows only the access token; null: all scopes that were consented to. */
  readonly scopes: readonly string[] | null;
  /** Null: the resource of the grant. */
  readonly resource: string | null;
  /**
   * When the whole request had arrived, as Unix milliseconds of the database's real clock. Null: overlapping requests
   * count as replays.
   */
  readonly began: number | null;
  /** Maximum milliseconds between requests that count as overlapping. */
  readonly overlap: number;
}

/** The result of a refresh: the tokens as text, the scopes of the access token, and its remaining seconds. */
export interface Refreshed {
  access: string;
  refresh: string;
  scopes: Scope[];
  expiresIn: number;
}

interface RefreshAnswer {
  outcome: 'issued' | 'overlapping' | GrantFault;
  scopes: Scope[] | null;
  answer: Buffer | null;
  expires_in: number | null;
}

const refresh = row<RefreshAnswer>(
  'refresh_tokens',
  'select outcome, scopes, answer, expires_in from app.refresh_tokens($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
);

const refreshable = row<{ is: boolean }, [clientId: string, digest: Buffer]>(
  'is_refreshable',
  'select app.is_refreshable($1, $2) as is',
);

/** Whether this is the digest of a refresh token of the client, consumed or not, whose family has not been revoked. */
export const isRefreshable = (clientId: string, digest: Buffer): Statement<boolean> =>
  mapped(refreshable(clientId, digest), (found) => found?.is ?? false);

/**
 * Exchanges a refresh token for `tokens` and marks it as consumed. A request that overlaps with the one that consumed
 * it gets the tokens of that request; a later one is a replay and revokes the family.
 */
export function refreshTokens(
  presented: PresentedRefreshToken,
  tokens: MintedTokens,
  from: Origin,
): Statement<Refreshed | GrantFault> {
  const { clientId, token, digest, scopes, resource, began, overlap } = presented;
  const sealed = began === null ? null : sealAnswer(token, tokens);
  const values = [tokens.access.digest, tokens.refresh.digest, sealed, from.address, from.requestId];
  return mapped(refresh(clientId, digest, scopes, resource, began, overlap, ...values), (answer) => {
    if (answer?.outcome !== 'issued' && answer?.outcome !== 'overlapping') return answer?.outcome ?? 'invalid_grant';
    const plain = answer.answer
      ? openAnswer(token, answer.answer)
      : { access: tokens.access.token, refresh: tokens.refresh.token };
    return { ...plain, scopes: answer.scopes ?? [], expiresIn: answer.expires_in ?? accessTokenSeconds };
  });
}

const forget = row<{ more: boolean }>('forget_answers', 'select app.forget_answers($1) as more');

/**
 * Deletes the sealed answers older than `overlap` milliseconds, with which no request can overlap any more. Returns
 * whether any are left.
 */
export function forgetAnswers(overlap: number): Statement<boolean> {
  return mapped(forget(overlap), (answer) => answer?.more ?? false);
}

type Revocation = 'revoked' | 'nothing' | 'invalid_client';

const revoke = row<{ outcome: Revocation }>('revoke_token', 'select app.revoke_token($1, $2, $3, $4) as outcome');

/**
 * Revokes a token of the client: a refresh token with its whole family, an access token alone; an unknown token has no
 * effect (RFC 7009).
 */
export function revokeToken(clientId: string, digest: Buffer, from: Origin): Statement<Revocation> {
  return mapped(
    revoke(clientId, digest, from.address, from.requestId),
    (answer) => answer?.outcome ?? 'invalid_client',
  );
}

/** The person who calls through a connected client. */
export interface TokenCaller {
  user_id: string;
  client_id: string;
  scopes: Scope[];
  user_name: string;
  /** The caller's role in the deal of the transaction; null when the caller is not a participant, or without a deal. */
  deal_role: string | null;
  /**
   * The capacity in which the caller sees that deal: their role, for an advisor that of whom they advise, or 'admin' of
   * its brokerage; null when they do not see it, or without a deal.
   */
  deal_side: string | null;
}

/** The result of app.enter_with_token(), in its order. */
interface Entered {
  readonly entered: readonly [
    userId: string,
    clientId: string,
    clientName: string,
    familyId: string,
    scopes: Scope[],
    expiresAt: string,
    userName: string,
    dealRole: string | null,
    answer: unknown,
    dealSide: string | null,
  ];
}

// The statement yields a row only if the token is accepted.
const entry = (name: string, parameters: string, also = '') =>
  row<Entered>(
    name,
    `select e.entered${also} from (select app.enter_with_token(${parameters}) as entered offset 0) e where e.entered is not null`,
  );

function callerOf(found: Entered | null): TokenCaller | null {
  if (found === null) return null;
  // Before migration 771 the last value is missing.
  const [user_id, client_id, , , scopes, , user_name, deal_role, , deal_side = null] = found.entered;
  return { user_id, client_id, scopes, user_name, deal_role, deal_side };
}

const enteringCaller = (digest: Buffer, entered: Statement<Entered | null>): Statement<TokenCaller | null> =>
  entering(digest, mapped(entered, callerOf));

const enter = entry('enter_with_token', '$1, $2, $3, $4');
const enterForTool = entry('enter_to_call_tool', '$1, $2, $3, $4', ', app.check_second_factor()');

/**
 * Enters the transaction as the person and client of the access token with this digest; `within` restricts the
 * transaction to one deal. Returns null when the token is unknown, expired, revoked or for another resource, or the
 * client no longer works for the person.
 */
export const enterWithAccessToken = (
  digest: Buffer,
  resource: string,
  within: DealScope | null = null,
): Statement<TokenCaller | null> => enteringCaller(digest, enter(digest, resource, within?.table, within?.id));

const enterForReading = entry('enter_to_read', '$1, $2, $3, $4, $5, $6, $7, $8, $9, $10');

/** A call of a read-only tool, for the audit trail. */
export interface ToolRead {
  readonly tool: string;
  /** The record that the call is about. */
  readonly subjectId: string | null;
  readonly dealId: string | null;
  readonly from: Origin;
}

/** The audit record of a call, as the parameters from $5 on. Its id is made here, where that costs least. */
const recordOf = ({ tool, subjectId, dealId, from }: ToolRead): Value[] => [
  tool,
  subjectId,
  dealId,
  from.address,
  from.requestId,
  uuidV7(),
];

/**
 * Like {@link enterWithAccessToken}, for a tool that writes: rejected with `second_factor_required` while the caller
 * lacks the second factor that one of their brokerages requires.
 */
export const enterToCallTool = (
  digest: Buffer,
  resource: string,
  within: DealScope | null,
): Statement<TokenCaller | null> => enteringCaller(digest, enterForTool(digest, resource, within?.table, within?.id));

/**
 * Like {@link enterWithAccessToken}, for a read-only tool. It also writes the audit record of the call, which is rolled
 * back with the transaction when the tool fails; the response does not wait for the commit to reach the disk.
 */
export const enterToRead = (
  digest: Buffer,
  resource: string,
  within: DealScope | null,
  read: ToolRead,
): Statement<TokenCaller | null> =>
  enteringCaller(digest, enterForReading(digest, resource, within?.table, within?.id, ...recordOf(read)));

/** A call of a read-only tool that one statement both enters and answers. */
export interface EnteringRead<T> {
  /** Like {@link enterToRead}, with the answer. */
  readonly enter: (
    digest: Buffer,
    resource: string,
    within: DealScope | null,
    read: ToolRead,
  ) => Statement<{ caller: TokenCaller | null; answer: T }>;
}

/**
 * Declares a query about the one deal of a call. `what` is SQL for the parameters of app.enter_with_token() from
 * `tells` on, and may use `value` as $11. `read` converts the resulting JSON (`J`), which is null when the caller does
 * not see the deal.
 */
export function enteringRead<J>(
  name: string,
  what: string,
): <T>(read: (found: J | null) => T, value?: Value) => EnteringRead<T> {
  const enterAndRead = entry(`enter_to_tell_${name}`, `$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ${what}`);
  return (read, value) => ({
    enter: (digest, resource, within, called) => {
      const given = [...recordOf(called), ...(value === undefined ? [] : [value])];
      const entered = entering(digest, enterAndRead(digest, resource, within?.table, within?.id, ...given));
      return mapped(entered, (found) => ({
        caller: callerOf(found),
        answer: read((found?.entered[8] ?? null) as J | null),
      }));
    },
  });
}
