/** Every error of the REST API is an ErrorEnvelope (specification, sections 2.1 and 7.1). */

import type { Context, ErrorHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { Busy, Invalid, Unavailable } from '../database/errors.ts';
import { requestIdOf } from '../http/request-id.ts';
import type { Logger } from '../log.ts';

/** The codes of the specification, then those that it has none for. */
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
export type ErrorCode = (typeof errorCodes)[number];

/** One thing to change in a request. */
export interface Detail {
  in: 'body' | 'query' | 'header';
  /** The property, parameter or header; '' is the body as a whole. */
  path: string;
  message: string;
}

/** Ends a request with an error answer; thrown from wherever the fault is found. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly status: ContentfulStatusCode;
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ContentfulStatusCode,
    code: ErrorCode,
    message: string,
    more: { details?: Readonly<Record<string, unknown>>; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = more.details;
    this.headers = more.headers ?? {};
  }
}

/** 400, or another status of 4xx when the request cannot even be looked at: lists each fault with its path. */
export function invalid(faults: readonly Detail[], status: 400 | 408 | 413 | 415 | 417 | 431 = 400): Fault {
  const [first, ...others] = faults;
  const more = others.length === 0 ? '' : ` (and ${others.length} more: see details)`;
  const message = `${first?.path ? `${first.path}: ` : ''}${first?.message ?? 'The request is not valid.'}${more}`;
  return new Fault(status, 'validation_error', message, { details: { faults } });
}

/** 401 with the challenge of RFC 6750: without a code when no key came at all. */
export function unauthorized(message: string, presented: boolean): Fault {
  const challenge = presented ? 'Bearer realm="dealkeep", error="invalid_token"' : 'Bearer realm="dealkeep"';
  return new Fault(401, 'invalid_token', message, { headers: { 'WWW-Authenticate': challenge } });
}

/** 403 with the scope that is missing (RFC 6750, section 3.1). */
export function insufficientScope(scope: string): Fault {
  return new Fault(403, 'insufficient_scope', `This needs an API key with the scope ${scope}.`, {
    details: { required_scope: scope },
    headers: { 'WWW-Authenticate': `Bearer realm="dealkeep", error="insufficient_scope", scope="${scope}"` },
  });
}

/** Sends the envelope of a fault. */
export function answerFault(c: Context, fault: Fault): Response {
  for (const [name, value] of Object.entries(fault.headers)) c.header(name, value);
  const { code, message, details } = fault;
  return c.json({ error: details === undefined ? { code, message } : { code, message, details } }, fault.status);
}

/** What an error becomes: a fault of the request, or one on our side that says nothing but the request's id. */
function faultOf(error: Error, requestId: string): Fault {
  if (error instanceof Fault) return error;
  if (error instanceof Invalid) return invalid([{ in: 'body', path: error.field ?? '', message: error.message }]);
  const again = error instanceof Busy || error instanceof Unavailable;
  return new Fault(
    500,
    'internal_error',
    `Something went wrong on our side${again ? ': try again in a moment' : ''}. When you report it, name the request ${requestId}.`,
    { details: { request_id: requestId }, headers: again ? { 'Retry-After': '1' } : {} },
  );
}

/** Hono's error handler: the envelope for the caller, the cause for the log. */
export function onError(log: Logger): ErrorHandler {
  return (error, c) => {
    const requestId = requestIdOf(c);
    const fault = faultOf(error, requestId);
    if (fault.status === 500) log.error({ err: error, requestId }, 'A REST request failed');
    return answerFault(c, fault);
  };
}
