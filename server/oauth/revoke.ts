/** POST /api/mcp/revoke: a client revokes a token (RFC 7009). */

import type { Handler } from 'hono';
import type { Services } from '../services.ts';
import { digestOf, revokeToken } from '../domain/clients/tokens.ts';
import { originOf } from '../http/origin.ts';
import { bodyParameters, required } from './body.ts';
import { checkClient, countFailure, countSuccess, limitAddress } from './limits.ts';
import { grantError } from './oauth-error.ts';
import { presentedClient } from './presented-client.ts';

/** The handler of the revocation endpoint. token_type_hint is not needed: the token itself shows its type. */
export function revocationEndpoint(services: Services): Handler {
  return async (c) => {
    await limitAddress(services, c);
    const parameters = await bodyParameters(c, ['token', 'token_type_hint', 'client_id']);
    const token = required(parameters, 'token');
    required(parameters, 'client_id');
    const client = await presentedClient(services, c, parameters, token);
    // For a client by its document, an unknown token does not show whether the client exists (RFC 7009, section 2.2).
    if (client === null) return c.body(null, 200);
    await checkClient(services, client.id);
    const outcome = await client.run(revokeToken(client.id, digestOf(token), originOf(c)));
    await (outcome === 'revoked' ? countSuccess(services, client.id) : countFailure(services, c, client.id));
    if (outcome === 'invalid_client') throw grantError('invalid_client');
    return c.body(null, 200);
  };
}
