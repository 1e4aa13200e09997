/** The errors of the token and revocation endpoints, as clients read them (RFC 6749, section 5.2). */

import type { Context } from 'hono';
import { Invalid, Refusal } from '../database/errors.ts';
import type { GrantFault } from '../domain/clients/tokens.ts';
import {
  Problem,
  retryAfter,
  secondsToWait,
  setHeaders,
  type ProblemOptions,
  type WriteProblem,
} from '../http/problem.ts';
import { requestIdOf } from '../http/request-id.ts';

export type ErrorCode =
  GrantFault | 'invalid_request' | 'unsupported_grant_type' | 'temporarily_unavailable' | 'server_error';

/**
 * Replaces the characters that error_description may not have: allowed are visible ASCII and spaces, without quotation
 * marks and backslashes (RFC 6749, section 5.2).
 */
export const describable = (text: string): string =>
  text.replaceAll(/[\u2018\u2019"]/g, "'").replaceAll(/[^ !#-[\]-~]/g, '?');

/** A problem with an OAuth error code; the status defaults to 400, or 401 for an unknown client. */
export const oauthError = (
  code: ErrorCode,
  description: string,
  { status, ...options }: ProblemOptions & { status?: Problem['status'] } = {},
): Problem => new Problem(status ?? (code === 'invalid_client' ? 401 : 400), code, description, options);

/** The error `invalid_request` (RFC 6749). */
export const invalidRequest = (description: string, status: Problem['status'] = 400): Problem =>
  oauthError('invalid_request', description, { status });

// One description for every error of a code or refresh token: it does not distinguish a guessed one from an expired
// one.
const descriptions: Record<GrantFault, string> = {
  invalid_client: 'There is no such client: register it under Connected clients and use the client_id shown there.',
  invalid_grant:
    'The code or refresh token is unknown, expired, used or revoked, or was issued to another request: authorize again.',
  invalid_scope: 'Ask at least for mcp:read, and only for scopes that were consented to.',
  invalid_target: 'The resource is not this tool server: use the one in its metadata, or leave it out.',
};

/** The error of a grant that cannot be redeemed. */
export const grantError = (fault: GrantFault): Problem => oauthError(fault, descriptions[fault]);

/** Translates the error codes of other interfaces into those of OAuth. */
function inCodesOfOAuth(c: Context, problem: Problem): Problem {
  switch (problem.code) {
    case 'validation_error':
      // The database's name for the value is not the name of a parameter.
      return problem.cause instanceof Invalid
        ? invalidRequest(
            'A parameter does not have the right form: compare the parameters with the metadata and the last response.',
          )
        : invalidRequest(problem.message, problem.status);
    case 'busy':
    case 'unavailable':
    case 'storage_full':
      return oauthError('temporarily_unavailable', 'Try again shortly.', {
        status: problem.status,
        ...retryAfter(5),
      });
    case 'too_many_today':
      return oauthError('temporarily_unavailable', problem.message, {
        status: 429,
        ...(problem.cause instanceof Refusal && retryAfter(secondsToWait(problem.cause))),
      });
    case 'internal_error':
      return oauthError(
        'server_error',
        `Something went wrong on our side: try again, and if it fails again, tell the operator the request id ${requestIdOf(c)}.`,
        { status: 500 },
      );
    default:
      return problem;
  }
}

const known: readonly string[] = [
  ...Object.keys(descriptions),
  'invalid_request',
  'unsupported_grant_type',
  'temporarily_unavailable',
  'validation_error',
  'busy',
  'unavailable',
  'storage_full',
  'too_many_today',
];

/** Whether OAuth clients know the error code. */
export const isKnown = (code: string): boolean => known.includes(code);

/** Writes a problem as a JSON response. */
export const writeOAuthError: WriteProblem = (c, problem) => {
  const written = inCodesOfOAuth(c, problem);
  setHeaders(c, written);
  return c.json({ error: written.code, error_description: describable(written.message) }, written.status);
};
