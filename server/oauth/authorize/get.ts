/** GET /api/mcp/authorize: checks an authorization request and shows the consent page. It changes nothing. */

import type { Context, Handler } from 'hono';
import type { Services } from '../../services.ts';
import { authorizingClient, documentClient, ownBrokerageNames } from '../../domain/clients/authorization.ts';
import { connectedClient } from '../../domain/clients/connected-clients.ts';
import { enterWithSession } from '../../domain/accounts/sessions.ts';
import { liveToolGrants } from '../../domain/clients/tool-grants.ts';
import { redirectUriMatches } from '../../domain/clients/redirect-uris.ts';
import { canonicalResource } from '../../http/resource-metadata.ts';
import { sessionDigest, sessionToken } from '../../http/session.ts';
import { NoRoom } from '../../lib/fair-queue.ts';
import { BadDocument, documentUrlFault, isDocumentUrl, type ClientDocuments } from '../client-documents.ts';
import { asClientId, urlencodedParameters, type Parameters } from '../parameters.ts';
import { askedScopes, firstError } from './checks.ts';
import { newShowing, unticked, type ConsentRequest } from './consent-request.ts';
import {
  consentPage,
  refusalPage,
  redirectUriPage,
  tryAgainPage,
  type Asked,
  type AskingClient,
  type DocumentAsking,
} from './pages.ts';
import { redirectWithError, signInAndReturn } from './redirect.ts';

/**
 * The message for an unknown client and for a client that works only for other people: the same, so that the two cannot
 * be told apart.
 */
export const noSuchClient =
  'There is no client with this client_id that works for you. Sign in with the account that it was registered with, register it under "Connected clients", or ask the person who registered it to share it with your brokerage.';

const otherRedirectUri =
  'The redirect_uri is not registered for this client: it must be the registered one, character for character.';

/** The message for a client that was turned off, to a person who can turn it on again. */
export const turnedOff = 'This client was turned off. Turn it on again under "Connected clients" to connect it.';

/**
 * Explains why a registered client does not work for the person: only people who see it in their settings learn that it
 * was turned off.
 */
export async function whyRefused({ database }: Services, c: Context, clientId: string): Promise<string> {
  const [, own] = await database.together(enterWithSession(sessionDigest(c)), connectedClient(clientId));
  if (own === null || own.metadata_url !== null || !own.disabled) return noSuchClient;
  return own.manageable
    ? turnedOff
    : `This client was turned off. An admin of ${own.brokerage_name} can turn it on again.`;
}

/** The error of a parameter that is repeated or missing; undefined when it is present once or malformed. */
function countFault(parameters: Parameters, name: 'client_id' | 'redirect_uri'): string | undefined {
  if (parameters.isRepeated(name)) return `${name} was sent more than once: send it once.`;
  return parameters.one(name) === undefined && !parameters.isMalformed(name) ? `${name} is missing.` : undefined;
}

/**
 * Whether the person has agreed to this client with this redirect URI before. Anybody can publish a document with any
 * redirect URI: without this check a link to Dealkeep could redirect to any address that its author chooses.
 */
const wasAgreedTo = ({ known }: DocumentAsking, redirectUri: string): boolean =>
  known !== null && redirectUriMatches(known.redirect_uris, redirectUri);

/** Returns the handler of GET and HEAD. */
export function showConsent(services: Services, documents: ClientDocuments): Handler {
  const { baseUrl, clientMetadata, features } = services.config;

  /** The response to a signed-in person once client and redirect URI are known to be valid. */
  function consentOrError(c: Context, parameters: Parameters, client: AskingClient, asked: Asked): Response {
    const error = firstError(parameters, baseUrl);
    const { clientId, redirectUri } = asked;
    const state = parameters.one('state');
    if (error && client.kind === 'document' && !wasAgreedTo(client, redirectUri))
      return refusalPage(c, 400, `Its request is not valid: ${error.description}`, {
        host: new URL(clientId).hostname,
        asked,
      });
    if (error) return redirectWithError(c, { redirectUri, state, issuer: baseUrl }, error);
    const request: ConsentRequest = {
      clientId,
      ...(client.kind === 'document' && {
        document: {
          name: client.document.name,
          redirectUris: client.document.redirectUris,
          shownAt: services.clock().getTime(),
        },
      }),
      redirectUri,
      challenge: parameters.one('code_challenge') ?? '',
      scopes: askedScopes(parameters),
      resource: canonicalResource(baseUrl),
      state: state ?? '',
      showing: newShowing(),
    };
    const id = client.kind === 'document' ? client.known?.id : clientId;
    const toolsOn = asked.grants.filter(({ client_id }) => client_id === id).length;
    return consentPage(c, { ...asked, client, request, features, toolsOn, unticked: parameters.all(unticked) });
  }

  async function showRegistered(
    c: Context,
    parameters: Parameters,
    clientId: string,
    redirectUri: string,
    here: string,
  ): Promise<Response> {
    const session = sessionToken(c);
    const [person, client, brokerages, grants] = await services.database.together(
      enterWithSession(sessionDigest(c)),
      authorizingClient(clientId, redirectUri),
      ownBrokerageNames(),
      liveToolGrants(),
    );
    if (client === null || (person !== null && !client.works)) {
      if (person === null) return refusalPage(c, 400, noSuchClient);
      return refusalPage(c, 400, await whyRefused(services, c, clientId), { asked: { person, here } });
    }
    if (!client.redirect_matches) {
      if (session === null || person === null) return redirectUriPage(c, { redirectUri, here });
      const [, own] = await services.database.together(enterWithSession(sessionDigest(c)), connectedClient(clientId));
      return redirectUriPage(c, { redirectUri, here, signedIn: { session, person, client: own } });
    }
    // The person signs in before any redirect to the client: otherwise a link alone would be an open redirect.
    if (session === null || person === null) return signInAndReturn(c, here);
    const asked = { session, person, brokerages, grants, clientId, redirectUri, here };
    return consentOrError(c, parameters, { kind: 'registered', client }, asked);
  }

  /** The same for a client identified by a metadata document, which is only fetched for a signed-in person. */
  async function showByDocument(
    c: Context,
    parameters: Parameters,
    url: string,
    redirectUri: string,
    here: string,
  ): Promise<Response> {
    const fault = documentUrlFault(url, clientMetadata.guard);
    if (fault !== null)
      return refusalPage(
        c,
        400,
        `The client_id is an address, but no client can be identified by a document there. ${fault}`,
      );
    const session = sessionToken(c);
    const [person, known, brokerages, grants] = await services.database.together(
      enterWithSession(sessionDigest(c)),
      documentClient(url),
      ownBrokerageNames(),
      liveToolGrants(),
    );
    if (session === null || person === null) return signInAndReturn(c, here);
    if (known?.disabled) return refusalPage(c, 400, turnedOff, { asked: { person, here } });
    try {
      const document = await documents.read(url, person.user_id);
      if (!redirectUriMatches(document.redirectUris, redirectUri))
        return redirectUriPage(c, { redirectUri, here, document, signedIn: { session, person, client: null } });
      const asked = { session, person, brokerages, grants, clientId: url, redirectUri, here };
      return consentOrError(c, parameters, { kind: 'document', document, known }, asked);
    } catch (error) {
      if (error instanceof BadDocument)
        return refusalPage(c, 400, error.message, { host: new URL(url).hostname, asked: { person, here } });
      if (error instanceof NoRoom) return tryAgainPage(c, error.share === 'own' ? 429 : 503, error);
      throw error;
    }
  }

  return async (c) => {
    const { pathname, search } = new URL(c.req.url);
    const here = pathname + search;
    const parameters = urlencodedParameters(search.slice(1));

    // Nobody is redirected until client and redirect URI are known to be valid.
    const named = parameters.one('client_id');
    const url = named !== undefined && isDocumentUrl(named) ? named : null;
    const clientId = asClientId(named);
    const redirectUri = parameters.one('redirect_uri');
    if (clientId === null && url === null)
      return refusalPage(c, 400, countFault(parameters, 'client_id') ?? noSuchClient);
    // The database ignores the port of a loopback address, up to five digits: 99999 would match, but no browser can be
    // redirected to it.
    if (redirectUri === undefined || !URL.canParse(redirectUri))
      return refusalPage(c, 400, countFault(parameters, 'redirect_uri') ?? otherRedirectUri);
    if (url !== null) return showByDocument(c, parameters, url, redirectUri, here);
    return showRegistered(c, parameters, clientId ?? '', redirectUri, here);
  };
}
