/** POST /api/mcp/authorize: takes the decision made on the consent page and redirects to the client with the result. */

import type { Context, Handler } from 'hono';
import type { Services } from '../../services.ts';
import {
  approveClient,
  approveDocumentClient,
  denyClient,
  denyDocumentClient,
  type Approval,
  type Consent,
  type Denial,
} from '../../domain/clients/authorization.ts';
import { Refusal } from '../../database/errors.ts';
import { addRedirectUri, connectedClient } from '../../domain/clients/connected-clients.ts';
import { anyPort, redirectUriFault } from '../../domain/clients/redirect-uris.ts';
import { tokenDigest } from '../../domain/accounts/secret-tokens.ts';
import { enterWithSession, type SessionCaller } from '../../domain/accounts/sessions.ts';
import { mint } from '../../domain/clients/tokens.ts';
import { bodyType, boundedText } from '../../http/bounded-body.ts';
import { csrfMatches, isOwnOrigin } from '../../http/csrf.ts';
import { originOf } from '../../http/origin.ts';
import { sessionDigest, sessionToken } from '../../http/session.ts';
import { isDocumentUrl } from '../client-documents.ts';
import { endpoints } from '../metadata.ts';
import { asClientId, urlencodedParameters, type Parameters } from '../parameters.ts';
import { askedScopes, firstError } from './checks.ts';
import { openRequest, startOver, unticked, type ConsentRequest } from './consent-request.ts';
import { noSuchClient, turnedOff, whyRefused } from './get.ts';
import { addsRedirectUri, outOfDatePage, refusalPage, secondFactorPage, tooManyClientsPage } from './pages.ts';
import { confirmAndReturn, redirectWithCode, redirectWithError, signInAndReturn } from './redirect.ts';

/**
 * Bytes of the largest form. The page's request is at most as long as the headers that it came in, 16 kB, here encoded
 * in base64.
 */
const largestForm = 32_768;
const outOfDate = 'The form is out of date, or was not shown to you.';

async function readForm(c: Context): Promise<Parameters | Response> {
  if (bodyType(c).type !== 'application/x-www-form-urlencoded')
    return refusalPage(c, 415, 'Send the form of the consent page.');
  const body = await boundedText(c, largestForm);
  if (body === 'too_large') return refusalPage(c, 413, 'The form is too large.');
  return body === 'not_text' ? refusalPage(c, 400, outOfDate) : urlencodedParameters(body.text);
}

/** The requested scopes narrowed to the ticked ones: ticking a scope that was not requested adds nothing. */
function decided(request: ConsentRequest, form: Parameters): Consent {
  const { clientId, redirectUri, challenge, resource, showing } = request;
  const ticked = form.all('scope');
  const scopes = request.scopes.filter((scope) => ticked.includes(scope));
  return { clientId, redirectUri, challenge, scopes, resource, consent: tokenDigest(showing) };
}

/** The authorization request that the page was shown for, as path and query; null when the form does not name one. */
function requestOf(here: string | undefined): string | null {
  if (here === undefined || !here.startsWith(`${endpoints.authorize}?`)) return null;
  const url = URL.parse(here, 'http://here');
  return url === null || url.pathname !== endpoints.authorize ? null : url.pathname + url.search;
}

/** The request with the choice of a form: shown again, the page leaves unticked what the person had unticked. */
function withChoice(request: string, form: Parameters): string {
  const ticked = form.all('scope');
  // The consent page always sends a scope, other forms none.
  if (ticked.length === 0) return request;
  const not = askedScopes(parametersOf(request)).filter((scope) => !ticked.includes(scope));
  // The rest of the request stays exactly as the client wrote it.
  return [
    request.replaceAll(new RegExp(`&${unticked}=[^&]*`, 'g'), ''),
    ...not.map((scope) => `${unticked}=${scope}`),
  ].join('&');
}

/** The parameters of an authorization request, given as path and query. */
const parametersOf = (request: string): Parameters => urlencodedParameters(request.slice(request.indexOf('?') + 1));

/** Milliseconds after which a decision on a client's metadata document as it was shown is no longer accepted. */
const longestShown = 600_000;

/** Returns the handler of POST. */
export function takeDecision(services: Services): Handler {
  const issuer = services.config.baseUrl;
  const takesDocuments = services.config.clientMetadata.mode !== 'off';
  const isStale = (shownAt: number) => services.clock().getTime() - shownAt > longestShown;

  /**
   * Whether a page can be shown for an authorization request that a form names: without the form's session its
   * signature cannot be checked.
   */
  function canBeShown(request: string): boolean {
    const asked = parametersOf(request);
    const named = asked.one('client_id');
    const isClient = asClientId(named) !== null || (named !== undefined && isDocumentUrl(named));
    return isClient && URL.canParse(asked.one('redirect_uri') ?? '') && firstError(asked, issuer) === null;
  }

  /**
   * Adds the redirect URI of an authorization request to its client, for a person who manages the client, and redirects
   * to the request again.
   */
  async function addAndGoOn(c: Context, again: string): Promise<Response> {
    const asked = parametersOf(again);
    const clientId = asClientId(asked.one('client_id'));
    const redirectUri = anyPort(asked.one('redirect_uri') ?? '');
    if (clientId === null) return refusalPage(c, 400, noSuchClient);
    const fault = redirectUriFault(redirectUri);
    if (fault !== null) return refusalPage(c, 400, `The address cannot be added. ${fault}`);
    try {
      const [person, client] = await services.database.together(
        enterWithSession(sessionDigest(c)),
        connectedClient(clientId),
        addRedirectUri(clientId, redirectUri, originOf(c)),
      );
      if (person === null) return signInAndReturn(c, again);
      if (client?.manageable) return c.redirect(again, 303);
      return refusalPage(c, 403, noSuchClient, { asked: { person, here: again } });
    } catch (error) {
      // Changing where a shared client's responses go requires a recent sign-in.
      if (error instanceof Refusal && error.reason === 'recent_sign_in_required') return confirmAndReturn(c, again);
      throw error;
    }
  }

  return async (c) => {
    if (!isOwnOrigin(c)) return refusalPage(c, 403, 'This decision came from another site.');
    const form = await readForm(c);
    if (form instanceof Response) return form;
    const field = form.one('request') ?? '';
    const named = requestOf(form.one('here')) ?? startOver(field);
    const again = named === null ? endpoints.authorize : withChoice(named, form);
    const signIn = () => signInAndReturn(c, again);

    const session = sessionToken(c);
    if (session === null) return signIn();
    if (!csrfMatches(session, form.one('csrf')))
      return named !== null && canBeShown(named) ? outOfDatePage(c, again) : refusalPage(c, 403, outOfDate);
    if (form.one('decision') === addsRedirectUri) return addAndGoOn(c, again);
    const request = openRequest(session, field);
    if (request === null) return refusalPage(c, 400, outOfDate);

    const { redirectUri, state, document } = request;
    if (document && (!takesDocuments || isStale(document.shownAt))) return c.redirect(again, 303);
    const back = { redirectUri, state, issuer };
    const consent = decided(request, form);
    const enter = enterWithSession(sessionDigest(c));
    const explain = async (
      outcome: Exclude<Approval | Denial, 'issued' | 'denied'>,
      person: SessionCaller | null,
    ): Promise<Response> => {
      if (outcome === 'signed_out') return signIn();
      if (outcome === 'sign_in_again') return confirmAndReturn(c, again);
      if (outcome === 'client_refused') {
        const why = document ? turnedOff : await whyRefused(services, c, request.clientId);
        return refusalPage(c, 400, why, person === null ? {} : { asked: { person, here: again } });
      }
      return refusalPage(c, 400, 'This request was already answered, and the client has used the response.');
    };
    const decision = form.one('decision');

    // Unticking reading denies the request: there is no smaller scope.
    if (decision === 'deny' || (decision === 'approve' && !consent.scopes.includes('mcp:read'))) {
      const [person, outcome] = await services.database.together(
        enter,
        document ? denyDocumentClient(consent, originOf(c)) : denyClient(consent, originOf(c)),
      );
      if (outcome !== 'denied') return explain(outcome, person);
      return redirectWithError(c, back, {
        error: 'access_denied',
        description: 'The person denied access: send them here again only when they want to connect.',
      });
    }
    if (decision !== 'approve') return refusalPage(c, 400, outOfDate);
    const code = mint('code');
    const agreed = services.database.together(
      enter,
      document
        ? approveDocumentClient(consent, document, code.digest, originOf(c))
        : approveClient(consent, code.digest, originOf(c)),
    );
    try {
      const [person, outcome] = await agreed;
      return outcome === 'issued' ? redirectWithCode(c, back, code.token) : explain(outcome, person);
    } catch (error) {
      // A client can show no second factor later, so the person who approves it must have shown theirs.
      if (error instanceof Refusal && error.reason === 'second_factor_required')
        return secondFactorPage(c, error.message, again);
      if (error instanceof Refusal && error.reason === 'too_many_clients')
        return tooManyClientsPage(c, error.message, again);
      throw error;
    }
  };
}
