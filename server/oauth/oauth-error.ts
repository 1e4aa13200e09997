/** The errors of the token and revocation endpoints, as clients read them (RFC 6749, section 5.2). */

import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { GrantFault } from '../domain/clients/tokens.ts';

export type ErrorCode =
  GrantFault | 'invalid_request' | 'unsupported_grant_type' | 'temporarily_unavailable' | 'server_error';

/** A description in the characters that error_description may have: visible ASCII and blanks, no quotation marks, no backslash (RFC 6749, section 5.2). */
export const describable = (text: string): string =>
  text.replaceAll(/[\u2018\u2019"]/g, "'").replaceAll(/[^ !#-[\]-~]/g, '?');

/** Thrown by an endpoint; the routes turn it into its JSON answer. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: ErrorCode;
  readonly status: ContentfulStatusCode;
  readonly retryAfter: number | undefined;

  constructor(
    code: ErrorCode,
    description: string,
    options: { status?: ContentfulStatusCode; retryAfter?: number } = {},
  ) {
    super(describable(description));
    this.code = code;
    this.status = options.status ?? (code === 'invalid_client' ? 401 : 400);
    this.retryAfter = options.retryAfter;
  }
}

export const invalidRequest = (description: string, status?: ContentfulStatusCode): OAuthError =>
  new OAuthError('invalid_request', description, status === undefined ? {} : { status });

// One description for every fault of a code or refresh token: it does not tell a guess from one that came too late.
const descriptions: Record<GrantFault, string> = {
  invalid_client: 'There is no such client: register it under Connected clients and use the client_id shown there.',
  invalid_grant:
    'The code or refresh token is unknown, expired, used or revoked, or was issued to another request: authorize again.',
  invalid_scope: 'Ask for no more than was consented to, and at least for mcp:read.',
  invalid_target: 'The resource is not this tool server: use the one in its metadata, or leave it out.',
};

export const grantError = (fault: GrantFault): OAuthError => new OAuthError(fault, descriptions[fault]);

/** Answers with an error as JSON. */
export function answerError(c: Context, { code, status, message, retryAfter }: OAuthError): Response {
  if (retryAfter !== undefined) c.header('Retry-After', String(retryAfter));
  return c.json({ error: code, error_description: message }, status);
}
