/**
 * What is wrong with a request, or with the service: one error class for every interface, each of which writes it in
 * its own format.
 */

import type { Context, ErrorHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { z } from 'zod';
import { Busy, Conflict, Denied, Invalid, Refusal, StorageFull, Unavailable } from '../database/errors.ts';
import { NoRoom } from '../lib/fair-queue.ts';
import type { Logger } from '../lib/log.ts';
import { isWithoutRoom } from '../lib/full-disk.ts';
import { StoreUnavailable } from '../storage/failing.ts';
import { requestIdOf } from './request-id.ts';

/** One thing to change in a request. */
export interface Detail {
  /** Which part of the request, when the path alone does not tell. */
  in?: 'body' | 'query' | 'header' | 'path';
  /** The property (parts joined by dots), the parameter or the header; '' for the whole. */
  path: string;
  message: string;
}

/** One thing to change in the body or the query. */
export type FieldError = Omit<Detail, 'in'>;

/** Body of every response of the web application's routes and the sign-in routes that is not 2xx. */
export interface ErrorBody {
  error: { code: string; message: string; details?: readonly FieldError[] };
}

export interface ProblemOptions {
  readonly details?: readonly Detail[] | Readonly<Record<string, unknown>>;
  /** Response headers, such as Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The original error. */
  readonly cause?: unknown;
}

/** Ends a request with a response that is not 2xx; thrown wherever the fault is found. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: ContentfulStatusCode;
  readonly code: string;
  readonly details: ProblemOptions['details'];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ContentfulStatusCode,
    code: string,
    message: string,
    { details, headers = {}, cause }: ProblemOptions = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.code = code;
    this.details = details;
    this.headers = headers;
  }
}

/** Writes a problem in the format of one interface. */
export type WriteProblem = (c: Context, problem: Problem) => Response;

/** The header that tells the client in how many seconds to retry. */
export const retryAfter = (seconds: number): { headers: Readonly<Record<string, string>> } => ({
  headers: { 'Retry-After': String(seconds) },
});

/**
 * Seconds to wait before retrying what was refused: an hour unless the refusal says otherwise, since its limit counts
 * per day or lasts until somebody acts.
 */
export const secondsToWait = (refusal: Refusal): number => refusal.retryAfter ?? 3_600;

/** The thing does not exist, or the person may not see it: the same response for both. */
export const nothingThere = (): Problem =>
  new Problem(404, 'not_found', 'It does not exist, or you do not have access to it.');

/** The thing exists and the person may see it, but may not do this to it. */
export const notAllowed = (cause?: unknown): Problem =>
  new Problem(403, 'denied', 'You do not have permission to do this.', { cause });

/** The request is larger than allowed; `message` names the limit. */
export const tooLarge = (message: string): Problem => new Problem(413, 'validation_error', message);

/** Reasons for refusing what the person may do after proving their identity further. */
const proofs: ReadonlySet<string> = new Set(['recent_sign_in_required', 'second_factor_required']);

function ofRefusal(error: Refusal): Problem {
  const { reason, message } = error;
  if (reason === 'not_found') return nothingThere();
  if (reason === 'too_many_mails' || reason === 'sandbox_just_reset')
    return new Problem(429, reason, message, { ...retryAfter(secondsToWait(error)), cause: error });
  return new Problem(proofs.has(reason) ? 403 : 409, reason, message, { cause: error });
}

/** The message when the database or the file system has no room left. */
export const noRoomLeft =
  'Dealkeep has no room left to store this, and nothing was changed. Tell whoever runs the service.';

/** Whether the database or the file system has no room left. */
const isFull = (error: unknown): boolean => error instanceof StorageFull || isWithoutRoom(error);

/**
 * The problem that an error is to the client, defined here once for each database error; null for a failure of the
 * service.
 */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof Refusal) return ofRefusal(error);
  if (error instanceof Denied) return notAllowed(error);
  const cause = error;
  if (error instanceof Invalid) {
    const details = [{ path: error.field ?? '', message: error.message }];
    return new Problem(400, 'validation_error', error.message, { details, cause });
  }
  if (error instanceof Conflict) return new Problem(409, 'conflict', error.message, { cause });
  if (error instanceof NoRoom) {
    const { share, message, retryAfter: seconds } = error;
    const options = { ...retryAfter(seconds), cause };
    if (share === 'all') return new Problem(503, 'busy', message, options);
    return new Problem(429, 'rate_limited', message, { details: { retry_after: seconds }, ...options });
  }
  if (error instanceof Busy) return new Problem(503, 'busy', error.message, { ...retryAfter(2), cause });
  if (error instanceof Unavailable) {
    const message = 'The service cannot reach its database: try again shortly.';
    return new Problem(503, 'unavailable', message, { ...retryAfter(5), cause });
  }
  if (error instanceof StoreUnavailable) {
    const message = 'The service cannot reach its document store: try again shortly.';
    return new Problem(503, 'unavailable', message, { ...retryAfter(5), cause });
  }
  if (isFull(error)) {
    return new Problem(507, 'storage_full', noRoomLeft, { ...retryAfter(60), cause });
  }
  return null;
}

/** A failure of the service: the caller gets only the id under which the log has it. */
const failure = (requestId: string, cause: unknown): Problem =>
  new Problem(
    500,
    'internal_error',
    `Something went wrong on our side. If it happens again, give whoever runs Dealkeep this request id: ${requestId}.`,
    { cause },
  );

/**
 * Turns an error that ended a request into a problem, and logs it if the service or the database failed. `knows` tells
 * whether an interface defines an error code; a problem with an undefined code is treated as a failure.
 */
export function reported(error: unknown, c: Context, log: Logger, knows?: (code: string) => boolean): Problem {
  const problem = problemOf(error);
  const requestId = requestIdOf(c);
  if (problem === null || knows?.(problem.code) === false) {
    log.error({ requestId, err: error }, 'a request failed');
    return failure(requestId, error);
  }
  const { cause } = problem;
  if (cause instanceof Unavailable || cause instanceof Busy)
    log.warn(
      { requestId, reason: String(cause.cause) },
      `the database is ${cause instanceof Busy ? 'busy' : 'unavailable'}`,
    );
  if (cause instanceof StoreUnavailable) log.error({ requestId, err: cause }, 'the document store is unavailable');
  if (isFull(cause)) log.error({ requestId, err: cause }, 'no room left to store what is sent');
  return problem;
}

/** Hono's error handler for routes that write problems by `write`; `knows` as for {@link reported}. */
export const problemHandler =
  (log: Logger, write: WriteProblem, knows?: (code: string) => boolean): ErrorHandler =>
  (error, c) =>
    write(c, reported(error, c, log, knows));

/** The mismatches that a schema reports. */
export const errorsOf = (error: z.ZodError): FieldError[] =>
  error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));

/** 400 with each error at its field. */
export const invalid = (details: FieldError[]): Problem =>
  new Problem(400, 'validation_error', details[0]?.message ?? 'The request is not valid.', { details });

/** The details that a form can show at its fields: those without `in`, which headers and paths have. */
function errorsIn(details: Problem['details']): { details?: readonly FieldError[] } {
  if (!Array.isArray(details)) return {};
  const errors = (details as readonly Detail[]).filter((detail) => detail.in === undefined);
  return errors.length === 0 ? {} : { details: errors };
}

/** Writes a problem as JSON: {@link ErrorBody}. */
export function writeProblemJson(c: Context, problem: Problem, message = problem.message): Response {
  setHeaders(c, problem);
  const { status, code, details } = problem;
  return c.json({ error: { code, message, ...errorsIn(details) } } satisfies ErrorBody, status);
}

/** Puts the headers of a problem on the answer. */
export function setHeaders(c: Context, { headers }: Problem): void {
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
}
