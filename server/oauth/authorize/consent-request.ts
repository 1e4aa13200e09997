/**
 * The request that the consent page was shown for, carried by its form: signed with the session, so that exactly what
 * was shown is approved, and with a nonce, so that each display of the page yields at most one usable code.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { scopes, type Scope } from '../../domain/clients/connected-clients.ts';
import type { DocumentDetails } from '../../domain/clients/authorization.ts';
import { endpoints } from '../metadata.ts';

export interface ConsentRequest {
  /** The id of a registered client, or the URL of the client's metadata document. */
  readonly clientId: string;
  /** The contents of the document when the page was shown, and the time of that in Unix milliseconds. */
  readonly document?: DocumentDetails & { readonly shownAt: number };
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly Scope[];
  readonly resource: string;
  readonly state: string;
  /** The nonce: 128 random bits, different each time the page is shown. */
  readonly showing: string;
}

/** Our own parameter of a request whose page is shown again: a scope that the person had unticked. */
export const unticked = 'unticked';

/** Returns a new nonce for one display of the page. */
export const newShowing = (): string => randomBytes(16).toString('base64url');

function signature(session: string, payload: string): Buffer {
  return createHmac('sha256', session).update(`dealkeep consent ${payload}`).digest();
}

/** Returns the request as the signed value of a form field. */
export function sealRequest(session: string, request: ConsentRequest): string {
  const payload = Buffer.from(JSON.stringify(request)).toString('base64url');
  return `${payload}.${signature(session, payload).toString('base64url')}`;
}

function parsed(payload: string): ConsentRequest | null {
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString()) as ConsentRequest;
  } catch {
    return null;
  }
}

/** Returns the request that {@link sealRequest} signed for this session, or null. */
export function openRequest(session: string, field: string): ConsentRequest | null {
  const [payload = '', ...rest] = field.split('.');
  // Compared as text: several base64 texts decode to the same bytes.
  const expected = Buffer.from(signature(session, payload).toString('base64url'));
  const presented = Buffer.from(rest.join('.'));
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) return null;
  return parsed(payload);
}

/**
 * Returns the path and query of the authorization request that a form field was made from, for a person who has to sign
 * in again before deciding; null when the field holds no request. The signature is not checked, so the result may only
 * be used to start over.
 */
export function startOver(field: string): string | null {
  const request = parsed(field.split('.')[0] ?? '');
  if (typeof request !== 'object' || request === null) return null;
  const { clientId, redirectUri, challenge, state, resource } = request;
  const texts = [clientId, redirectUri, challenge, state, resource];
  if (!texts.every((text) => typeof text === 'string') || !Array.isArray(request.scopes)) return null;
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    scope: scopes.filter((scope) => request.scopes.includes(scope)).join(' '),
    state,
    resource,
  });
  return `${endpoints.authorize}?${query}`;
}
