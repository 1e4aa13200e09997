/** GET /api/mcp/authorize: looks at an authorization request and asks the person. It changes nothing, whoever asks. */

import type { Handler } from 'hono';
import type { Services } from '../../services.ts';
import { authorizingClient, ownBrokerageNames } from '../../domain/clients/authorization.ts';
import { enterWithSession } from '../../domain/accounts/sessions.ts';
import { canonicalResource } from '../../http/resource-metadata.ts';
import { sessionDigest, sessionToken } from '../../http/session.ts';
import { asClientId, urlencodedParameters } from '../parameters.ts';
import { askedScopes, firstError } from './checks.ts';
import { newShowing } from './consent-request.ts';
import { consentPage, refusalPage } from './pages.ts';
import { redirectWithError, signInAndReturn } from './redirect.ts';

/** What is said of a client that is unknown and of one that works for other people alone: no difference. */
export const noSuchClient =
  'There is no client with this client_id that works for you. Register it under "Connected clients", or ask whoever registered it to have it shared with your brokerage.';

export const otherRedirectUri =
  'The redirect_uri is not registered for this client: it must be the registered one, character for character.';

/** The handler of GET and HEAD. */
export function showConsent(services: Services): Handler {
  const { baseUrl } = services.config;
  return async (c) => {
    const { pathname, search } = new URL(c.req.url);
    const parameters = urlencodedParameters(search.slice(1));

    // Until client and redirect URI are known to be good, nobody is sent anywhere.
    const clientId = asClientId(parameters.one('client_id'));
    const redirectUri = parameters.one('redirect_uri');
    if (clientId === null) return refusalPage(c, 400, noSuchClient);
    // A port that no URL can have passes for any port of this machine in the database.
    if (redirectUri === undefined || !URL.canParse(redirectUri)) return refusalPage(c, 400, otherRedirectUri);
    const session = sessionToken(c);
    const [person, client, brokerages] = await services.database.together(
      enterWithSession(sessionDigest(c)),
      authorizingClient(clientId, redirectUri),
      ownBrokerageNames(),
    );
    if (client === null || (person !== null && !client.works)) return refusalPage(c, 400, noSuchClient);
    if (!client.redirect_matches) return refusalPage(c, 400, otherRedirectUri);

    // Signing in comes before any redirect to the client: a link alone sends no stranger on.
    if (session === null || person === null) return signInAndReturn(c, pathname + search);

    const error = firstError(parameters, baseUrl);
    const state = parameters.one('state');
    if (error) return redirectWithError(c, { redirectUri, state, issuer: baseUrl }, error);
    const request = {
      clientId,
      redirectUri,
      challenge: parameters.one('code_challenge') ?? '',
      scopes: askedScopes(parameters),
      resource: canonicalResource(baseUrl),
      state: state ?? '',
      showing: newShowing(),
    };
    return consentPage(c, { session, person, brokerages, client, request, here: pathname + search });
  };
}
