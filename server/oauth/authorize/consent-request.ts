/**
 * What the consent page was shown for, carried by its form: signed with the session, so that what is approved is exactly
 * what was shown, and with a nonce, so that one showing leads to one usable code at most.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { scopes, type Scope } from '../../domain/clients/connected-clients.ts';
import type { DocumentDetails } from '../../domain/clients/authorization.ts';
import { endpoints } from '../metadata.ts';

export interface ConsentRequest {
  /** The id of the record, or the address of the client's document. */
  readonly clientId: string;
  /** What the document said as it was shown, and when that was, in Unix milliseconds. */
  readonly document?: DocumentDetails & { readonly shownAt: number };
  readonly redirectUri: string;
  readonly challenge: string;
  readonly scopes: readonly Scope[];
  readonly resource: string;
  readonly state: string;
  /** 128 random bits, different each time the page is shown. */
  readonly showing: string;
}

/** The nonce of one showing of the page. */
export const newShowing = (): string => randomBytes(16).toString('base64url');

function signature(session: string, payload: string): Buffer {
  return createHmac('sha256', session).update(`dealkeep consent ${payload}`).digest();
}

/** The request as the value of a form field. */
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

/** The request that {@link sealRequest} made for this very session, or null. */
export function openRequest(session: string, field: string): ConsentRequest | null {
  const [payload = '', ...rest] = field.split('.');
  // As text: base64 can be written in several ways.
  const expected = Buffer.from(signature(session, payload).toString('base64url'));
  const presented = Buffer.from(rest.join('.'));
  if (presented.length !== expected.length || !timingSafeEqual(presented, expected)) return null;
  return parsed(payload);
}

/**
 * The authorize request that a field was made from, as path and query: for a person who has to sign in again before deciding.
 * Unsigned, so good for starting over and for nothing else; null when there is nothing to start.
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
