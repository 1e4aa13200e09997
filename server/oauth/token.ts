/** POST /api/mcp/token: a code or a refresh token in exchange for tokens (specification, section 4.2; RFC 6749, section 5). */

import type { Context, Handler } from 'hono';
import type { House } from '../context.ts';
import { challengeOf, redeemCode } from '../domain/authorization.ts';
import { accessTokenSeconds, digestOf, mintTokens, refreshTokens, type Refreshed } from '../domain/tokens.ts';
import { originOf } from '../http/origin.ts';
import { resourceOf } from '../http/resource-metadata.ts';
import { bodyParameters, required } from './body.ts';
import { DatabaseClock } from './database-clock.ts';
import { Herd } from './herd.ts';
import { limitAddress, limitClient } from './limits.ts';
import { grantError, OAuthError } from './oauth-error.ts';
import { asClientId, scopeList, type Parameters } from './parameters.ts';

const known = [
  'grant_type',
  'client_id',
  'code',
  'code_verifier',
  'redirect_uri',
  'refresh_token',
  'scope',
  'resource',
];

/** Tells requests that overlap from those that came later. */
class Overlap {
  readonly #clock: DatabaseClock;
  readonly #herd = new Herd();

  constructor({ database }: House) {
    this.#clock = new DatabaseClock(database);
  }

  /** Waits for those that came together with this one; when it began, by the database's clock. */
  async began(digest: Buffer, arrived: number): Promise<number> {
    const [began] = await Promise.all([this.#clock.at(arrived), this.#herd.gathered(digest.toString('hex'), arrived)]);
    return began;
  }
}

/** One request: when it arrived, what it presents. */
interface Exchange {
  readonly house: House;
  readonly overlap: Overlap;
  readonly c: Context;
  readonly parameters: Parameters;
  readonly clientId: string;
  readonly resource: string | null;
  /** By performance.now(). */
  readonly arrived: number;
}

/** The canonical resource that is asked for, or null when none is. Throws invalid_target for any other. */
function askedResource({ config }: House, parameters: Parameters): string | null {
  const asked = parameters.all('resource').map((resource) => resourceOf(config.baseUrl, resource));
  if (asked.includes(null)) throw grantError('invalid_target');
  return asked[0] ?? null;
}

async function exchangeCode({ house, c, parameters, clientId, resource }: Exchange): Promise<Refreshed> {
  const tokens = mintTokens();
  const presented = {
    clientId,
    code: digestOf(required(parameters, 'code')),
    redirectUri: required(parameters, 'redirect_uri'),
    challenge: challengeOf(required(parameters, 'code_verifier')),
    resource,
  };
  const answer = await house.database.run(redeemCode(presented, tokens, originOf(c)));
  if (typeof answer === 'string') throw grantError(answer);
  return { access: tokens.access.token, refresh: tokens.refresh.token, scopes: answer, expiresIn: accessTokenSeconds };
}

async function exchangeRefreshToken({
  house,
  overlap,
  c,
  parameters,
  clientId,
  resource,
  arrived,
}: Exchange): Promise<Refreshed> {
  const token = required(parameters, 'refresh_token');
  const digest = digestOf(token);
  const presented = {
    clientId,
    token,
    digest,
    scopes: scopeList(parameters.one('scope')),
    resource,
    began: house.config.refreshOverlap ? await overlap.began(digest, arrived) : null,
  };
  const answer = await house.database.run(refreshTokens(presented, mintTokens(), originOf(c)));
  if (typeof answer === 'string') throw grantError(answer);
  return answer;
}

const grants = new Map([
  ['authorization_code', { parameters: ['code', 'code_verifier', 'redirect_uri'], exchange: exchangeCode }],
  ['refresh_token', { parameters: ['refresh_token'], exchange: exchangeRefreshToken }],
]);

/** The handler of the token endpoint. */
export function tokenEndpoint(house: House): Handler {
  const overlap = new Overlap(house);
  return async (c) => {
    const arrived = performance.now();
    await limitAddress(house, c);
    const parameters = await bodyParameters(c, known);
    const grant = grants.get(required(parameters, 'grant_type'));
    if (!grant)
      throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.');
    for (const name of [...grant.parameters, 'client_id']) required(parameters, name);
    const clientId = asClientId(parameters.one('client_id'));
    if (clientId === null) throw grantError('invalid_client');
    await limitClient(house, clientId);
    const resource = askedResource(house, parameters);
    const issued = await grant.exchange({ house, overlap, c, parameters, clientId, resource, arrived });
    return c.json({
      access_token: issued.access,
      token_type: 'Bearer',
      expires_in: issued.expiresIn,
      refresh_token: issued.refresh,
      scope: issued.scopes.join(' '),
    });
  };
}
