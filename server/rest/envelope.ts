/** Error responses of the REST API: each is an ErrorEnvelope (specification, sections 2.1 and 7.1). */

import type { Context } from 'hono';
import { Problem, retryAfter, setHeaders, type Detail, type WriteProblem } from '../http/problem.ts';
import { requestIdOf } from '../http/request-id.ts';
import { restPath } from '../http/rest-path.ts';

/** The codes of the specification, then those for errors that it does not cover. */
export const errorCodes = [
  'invalid_token',
  'insufficient_scope',
  'rate_limited',
  'validation_error',
  'contact_not_found',
  'not_found',
  'method_not_allowed',
  'internal_error',
] as const;

interface OperationError {
  readonly status: number;
  /** Name of the error in the OpenAPI document. */
  readonly name: string;
  readonly meaning: string;
}

const error = (status: number, name: string, meaning: string): OperationError => ({ status, name, meaning });

/**
 * Errors of single operations, by code. The specification's three operations on contacts use only {@link errorCodes}.
 */
export const operationErrors = {
  contact_not_found: error(404, 'ContactNotFound', 'There is no such contact, or the key cannot see it'),
  deal_not_found: error(404, 'DealNotFound', 'There is no such deal, or the key cannot see it'),
  offer_not_found: error(404, 'OfferNotFound', 'There is no such offer, or the key cannot see it'),
  document_not_found: error(404, 'DocumentNotFound', 'There is no such document, or the key cannot see it'),
  condition_not_found: error(404, 'ConditionNotFound', 'There is no such closing condition, or the key cannot see it'),
  conflict: error(409, 'Conflict', 'The request conflicts with another record, or a rule forbids it'),
  webhook_not_found: error(404, 'WebhookNotFound', 'There is no such webhook, or it belongs to another key'),
  delivery_not_found: error(404, 'DeliveryNotFound', 'There is no such delivery, or it belongs to another key'),
  cursor_expired: error(
    410,
    'CursorExpired',
    'The cursor is older than 30 days or than the events that are kept, or predates a restore or a renewal of secrets',
  ),
  precondition_failed: error(
    412,
    'PreconditionFailed',
    'The record has changed since the entity tag in If-Match was issued',
  ),
} satisfies Record<string, OperationError>;

export type ErrorCode = keyof typeof operationErrors;

const passing = ['busy', 'unavailable', 'storage_full'];
const known: readonly string[] = [...errorCodes, ...Object.keys(operationErrors), ...passing];

/** Whether an envelope can have this code. */
export const isKnown = (code: string): boolean => known.includes(code);

function summary([first, ...others]: readonly Detail[]): string {
  const more = others.length === 0 ? '' : ` (and ${others.length} more: see details)`;
  return `${first?.path ? `${first.path}: ` : ''}${first?.message ?? 'The request is not valid.'}${more}`;
}

/** 400, or another 4xx status when the request cannot be read at all: lists each fault with its path. */
export const invalid = (details: readonly Detail[], status: 400 | 413 | 415 = 400): Problem =>
  new Problem(status, 'validation_error', summary(details), { details });

/** 409 `conflict` with a message; `details` name the conflicting records if a program can act on them. */
export const conflict = (message: string, details?: Readonly<Record<string, unknown>>, cause?: unknown): Problem =>
  new Problem(409, 'conflict', message, { ...(details && { details }), cause });

/** 429 with the seconds after which to retry; optional `details` say more. */
export const rateLimited = (
  message: string,
  seconds: number,
  { details, cause }: { readonly details?: Readonly<Record<string, unknown>>; readonly cause?: unknown } = {},
): Problem =>
  new Problem(429, 'rate_limited', message, {
    details: { ...details, retry_after: seconds },
    ...retryAfter(seconds),
    cause,
  });

/** 401 with the challenge of RFC 6750: without an error code if no key was presented. */
export function unauthorized(message: string, presented: boolean): Problem {
  const challenge = presented ? 'Bearer realm="dealkeep", error="invalid_token"' : 'Bearer realm="dealkeep"';
  return new Problem(401, 'invalid_token', message, { headers: { 'WWW-Authenticate': challenge } });
}

/** 403 with the missing scope (RFC 6750, section 3.1). */
export function insufficientScope(scope: string): Problem {
  return new Problem(403, 'insufficient_scope', `This needs an API key with the scope ${scope}.`, {
    details: { required_scope: scope },
    headers: { 'WWW-Authenticate': `Bearer realm="dealkeep", error="insufficient_scope", scope="${scope}"` },
  });
}

/** The message of an internal error, with the id under which it is in the log. */
export const broken = (requestId: string): string =>
  `Something went wrong on our side. Report this request id to whoever runs the service: ${requestId}.`;

/**
 * The message while the database or the document store is unavailable; `isWrite`: whether the request changes
 * something.
 */
export const away = (isWrite: boolean): string =>
  `The service is temporarily unavailable: try again shortly.${isWrite ? ' It is not known whether this was done: send it again with the same Idempotency-Key, or check first.' : ''}`;

/** The problem with a code of this API, and with its list of details as `faults`. */
function ours(c: Context, problem: Problem): Problem {
  const { status, code, message, details, headers } = problem;
  const requestId = requestIdOf(c);
  const internal = (said: string) =>
    new Problem(status, 'internal_error', said, { details: { request_id: requestId }, headers });
  switch (code) {
    case 'busy':
    case 'storage_full':
      return internal(message);
    case 'unavailable':
      return internal(away(c.req.method !== 'GET' && c.req.method !== 'HEAD'));
    case 'internal_error':
      return internal(broken(requestId));
  }
  if (!Array.isArray(details)) return problem;
  const faults = (details as readonly Detail[]).map((detail) => ({ in: 'body', ...detail }));
  return new Problem(status, code, summary(details as readonly Detail[]), { details: { faults }, headers });
}

/**
 * Links to the description of an error code in the guide (RFC 8288, section 3; `help` of HTML). Its anchors have
 * hyphens.
 */
const helpWith = (code: string): string => `<${restPath}/docs#description/${code.replaceAll('_', '-')}>; rel="help"`;

/** Sends the envelope of a problem, with a link to the paragraph of the guide about it. */
export const writeEnvelope: WriteProblem = (c, problem) => {
  const written = ours(c, problem);
  setHeaders(c, written);
  const { code, message, details } = written;
  c.header('Link', helpWith(code));
  return c.json({ error: details === undefined ? { code, message } : { code, message, details } }, written.status);
};
