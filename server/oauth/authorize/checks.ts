/**
 * Checks of an authorization request, in this order, once its client and redirect URI are known to be valid; the client
 * is sent the first error (specification, section 4.2; OAuth 2.1, section 4.1.2.1).
 */

import { scopes, type Scope } from '../../domain/clients/connected-clients.ts';
import { resourceOf } from '../../http/resource-metadata.ts';
import { scopeList, type Parameters } from '../parameters.ts';

/** An error response, sent to the client's redirect URI (OAuth 2.1, section 4.1.2.1). */
export interface AuthorizationError {
  readonly error:
    | 'invalid_request'
    | 'unsupported_response_type'
    | 'invalid_scope'
    | 'invalid_target'
    | 'request_not_supported'
    | 'request_uri_not_supported'
    | 'access_denied';
  readonly description: string;
}

type Check = (parameters: Parameters, baseUrl: string) => AuthorizationError | null;

const refused = (error: AuthorizationError['error'], description: string): AuthorizationError => ({
  error,
  description,
});
const invalid = (description: string): AuthorizationError => refused('invalid_request', description);

const singular = [
  'response_type',
  'code_challenge',
  'code_challenge_method',
  'scope',
  'state',
  'request',
  'request_uri',
];

const eachOnce: Check = (parameters) => {
  const repeated = singular.find((name) => parameters.isRepeated(name));
  return repeated === undefined ? null : invalid(`${repeated} was sent more than once: send it once.`);
};

const eachText: Check = (parameters) => {
  const malformed = [...singular, 'resource'].find((name) => parameters.isMalformed(name));
  return malformed === undefined
    ? null
    : invalid(`${malformed} is not well-formed UTF-8: send it percent-encoded in UTF-8.`);
};

const noRequestObject: Check = (parameters) => {
  if (parameters.one('request') !== undefined)
    return refused('request_not_supported', 'Request objects are not supported: send plain parameters.');
  if (parameters.one('request_uri') !== undefined)
    return refused('request_uri_not_supported', 'Request objects are not supported: send plain parameters.');
  return null;
};

const responseType: Check = (parameters) => {
  const value = parameters.one('response_type');
  if (value === undefined) return invalid('response_type is missing: it must be code.');
  return value === 'code' ? null : refused('unsupported_response_type', 'response_type must be code.');
};

const state: Check = (parameters) =>
  parameters.one('state') === undefined ? invalid('state is missing: send a value that nobody can guess.') : null;

const challengeMethod: Check = (parameters) =>
  parameters.one('code_challenge_method') === 'S256'
    ? null
    : invalid('code_challenge_method must be S256: send it with the challenge.');

const challenge: Check = (parameters) =>
  /^[A-Za-z0-9_-]{43}$/.test(parameters.one('code_challenge') ?? '')
    ? null
    : invalid('code_challenge must be the SHA-256 of the verifier in base64url: 43 characters.');

const scope: Check = (parameters) => {
  const asked = scopeList(parameters.one('scope'));
  if (asked === null) return invalid('scope is missing: ask for mcp:read, or for mcp:read mcp:write.');
  if (!asked.every((name) => (scopes as readonly string[]).includes(name))) {
    return refused('invalid_scope', 'The scopes are mcp:read and mcp:write: ask for the first, or for both.');
  }
  return asked.includes('mcp:read')
    ? null
    : refused('invalid_scope', 'mcp:read is required: ask for mcp:read, or for mcp:read mcp:write.');
};

const resource: Check = (parameters, baseUrl) =>
  parameters.all('resource').every((asked) => resourceOf(baseUrl, asked) !== null)
    ? null
    : refused('invalid_target', 'resource must be this tool server, as in its metadata: send that, or leave it out.');

const checks: readonly Check[] = [
  eachOnce,
  eachText,
  noRequestObject,
  responseType,
  state,
  challengeMethod,
  challenge,
  scope,
  resource,
];

/** Returns the request's first error, or null. */
export function firstError(parameters: Parameters, baseUrl: string): AuthorizationError | null {
  for (const check of checks) {
    const found = check(parameters, baseUrl);
    if (found) return found;
  }
  return null;
}

/** Returns the scopes of a valid request, in the order of `scopes`. */
export function askedScopes(parameters: Parameters): Scope[] {
  const asked = scopeList(parameters.one('scope')) ?? [];
  return scopes.filter((name) => asked.includes(name));
}
