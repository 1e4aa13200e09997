/** POST /api/mcp/revoke: a client gives a token back (RFC 7009). */

import type { Handler } from 'hono';
import type { House } from '../context.ts';
import { digestOf, revokeToken } from '../domain/tokens.ts';
import { originOf } from '../http/origin.ts';
import { bodyParameters, required } from './body.ts';
import { checkClient, countFailure, countSuccess, limitAddress } from './limits.ts';
import { grantError } from './oauth-error.ts';
import { asClientId } from './parameters.ts';

/** The handler of the revocation endpoint. The hint of the token's type is not needed: the token tells. */
export function revocationEndpoint(house: House): Handler {
  return async (c) => {
    await limitAddress(house, c);
    const parameters = await bodyParameters(c, ['token', 'token_type_hint', 'client_id']);
    const token = required(parameters, 'token');
    const clientId = asClientId(required(parameters, 'client_id'));
    if (clientId === null) throw grantError('invalid_client');
    await checkClient(house, clientId);
    const outcome = await house.database.run(revokeToken(clientId, digestOf(token), originOf(c)));
    await (outcome === 'revoked' ? countSuccess(house, clientId) : countFailure(house, c, clientId));
    if (outcome === 'invalid_client') throw grantError('invalid_client');
    return c.body(null, 200);
  };
}
