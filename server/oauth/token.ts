/**
 * POST /api/mcp/token: exchanges a code or a refresh token for tokens (specification, section 4.2; RFC 6749, section
 * 5).
 */

import type { Context, Handler } from 'hono';
import type { Services } from '../services.ts';
import { challengeOf, redeemCode } from '../domain/clients/authorization.ts';
import { accessTokenSeconds, digestOf, mintTokens, refreshTokens, type Refreshed } from '../domain/clients/tokens.ts';
import { responseOf } from '../http/open-response.ts';
import { originOf } from '../http/origin.ts';
import { Problem } from '../http/problem.ts';
import { resourceOf } from '../http/resource-metadata.ts';
import { bodyParameters, required } from './body.ts';
import { isDocumentUrl, takenDocuments } from './client-documents.ts';
import { checkClient, countFailure, countSuccess, limitAddress } from './limits.ts';
import { grantError, oauthError } from './oauth-error.ts';
import { ConcurrentRefreshes } from './concurrent-refreshes.ts';
import { presentedClient, type PresentedClient } from './presented-client.ts';
import { scopeList, type Parameters } from './parameters.ts';

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

interface TokenRequest {
  readonly services: Services;
  readonly refreshes: ConcurrentRefreshes;
  readonly c: Context;
  readonly parameters: Parameters;
  readonly client: PresentedClient;
  readonly resource: string | null;
  /**
   * When the last byte of the body arrived, by performance.now(). The arrival of the first byte would not be safe: a
   * thief with a stolen token could begin a request, withhold its end until the owner has refreshed, and receive the
   * owner's new tokens.
   */
  readonly arrived: number;
}

/** The canonical resource that is requested, or null when none is. Throws invalid_target for any other. */
function askedResource({ config }: Services, parameters: Parameters): string | null {
  const asked = parameters.all('resource').map((resource) => resourceOf(config.baseUrl, resource));
  if (asked.includes(null)) throw grantError('invalid_target');
  return asked[0] ?? null;
}

/** Ends a request that nobody waits for any more. */
const clientGone = () =>
  oauthError('temporarily_unavailable', 'The connection was closed before the answer.', { status: 408 });

async function exchangeCode({ services, c, parameters, client, resource }: TokenRequest): Promise<Refreshed> {
  const tokens = mintTokens();
  const presented = {
    clientId: client.id,
    code: digestOf(required(parameters, 'code')),
    redirectUri: required(parameters, 'redirect_uri'),
    challenge: challengeOf(required(parameters, 'code_verifier')),
    resource,
  };
  await checkClient(services, client.id);
  const answer = await client.run(redeemCode(presented, tokens, originOf(c)));
  if (typeof answer === 'string') throw grantError(answer);
  return { access: tokens.access.token, refresh: tokens.refresh.token, scopes: answer, expiresIn: accessTokenSeconds };
}

async function exchangeRefreshToken({
  services,
  refreshes,
  c,
  parameters,
  client,
  resource,
  arrived,
}: TokenRequest): Promise<Refreshed> {
  const token = required(parameters, 'refresh_token');
  const digest = digestOf(token);
  // The request's slot is released to others while it waits.
  const waits = () => services.load.releaseSlot(responseOf(c));
  const [began] = await Promise.all([
    refreshes.began(client.id, digest, arrived, waits),
    checkClient(services, client.id),
  ]);
  // A client that has closed the connection meanwhile would not get the new token, and would try again with this one,
  // which would count as a replay: leave its token as it is.
  if (responseOf(c).destroyed) throw clientGone();
  const presented = {
    clientId: client.id,
    token,
    digest,
    scopes: scopeList(parameters.one('scope')),
    resource,
    began,
    overlap: services.config.refreshOverlapMillis,
  };
  const answer = await client.run(refreshTokens(presented, mintTokens(), originOf(c)));
  if (typeof answer === 'string') throw grantError(answer);
  refreshes.forgetSoon();
  return answer;
}

const grants = new Map([
  [
    'authorization_code',
    { parameters: ['code', 'code_verifier', 'redirect_uri'], credential: 'code', exchange: exchangeCode },
  ],
  ['refresh_token', { parameters: ['refresh_token'], credential: 'refresh_token', exchange: exchangeRefreshToken }],
]);

/** The handler of the token endpoint. */
export function tokenEndpoint(services: Services): Handler {
  const refreshes = new ConcurrentRefreshes(services);
  const isTaken = takenDocuments(services.config.clientMetadata);
  return async (c) => {
    await limitAddress(services, c);
    const parameters = await bodyParameters(c, known);
    const arrived = performance.now();
    const grant = grants.get(required(parameters, 'grant_type'));
    if (!grant) throw oauthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.');
    for (const name of grant.parameters) required(parameters, name);
    const named = required(parameters, 'client_id');
    if (isTaken && isDocumentUrl(named) && !isTaken(named)) throw grantError('invalid_client');
    const client = await presentedClient(services, c, parameters, required(parameters, grant.credential));
    if (client === null) throw grantError('invalid_grant');
    const resource = askedResource(services, parameters);
    const issued = await grant
      .exchange({ services, refreshes, c, parameters, client, resource, arrived })
      .catch(async (error: unknown) => {
        if (error instanceof Problem && error.code !== 'temporarily_unavailable')
          await countFailure(services, c, client.id);
        throw error;
      });
    await countSuccess(services, client.id);
    return c.json({
      access_token: issued.access,
      token_type: 'Bearer',
      expires_in: issued.expiresIn,
      refresh_token: issued.refresh,
      scope: issued.scopes.join(' '),
    });
  };
}
