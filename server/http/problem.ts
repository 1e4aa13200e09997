/** What is wrong with a request, or with us: one error for every interface, each of which writes it in its own format. */

import type { Context, ErrorHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { z } from 'zod';
import { Busy, Conflict, Denied, Invalid, Refusal, StorageFull, Unavailable } from '../database/errors.ts';
import { NoRoom } from '../lib/fair-queue.ts';
import type { Logger } from '../lib/log.ts';
import { isWithoutRoom, StoreUnavailable } from '../storage/failing.ts';
import { requestIdOf } from './request-id.ts';

/** One thing to change in a request. */
export interface Detail {
  /** Where it is, when that is not plain from the path. */
  in?: 'body' | 'query' | 'header' | 'path';
  /** The property, parts joined by dots, the parameter or the header; '' is the whole. */
  path: string;
  message: string;
}

/** One thing to change in the body or the query. */
export type FieldError = Omit<Detail, 'in'>;

/** Every answer of the web application's routes, and of those to sign in, that is not 2xx. */
export interface ErrorBody {
  error: { code: string; message: string; details?: readonly FieldError[] };
}

export interface ProblemOptions {
  readonly details?: readonly Detail[] | Readonly<Record<string, unknown>>;
  /** Headers of the answer, such as Retry-After. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The error that it was at first. */
  readonly cause?: unknown;
}

/** Ends a request with an answer that is not 2xx; thrown from wherever it is found that something is wrong. */
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

/** The header with which an answer says in how many seconds to try again. */
export const retryAfter = (seconds: number): { headers: Readonly<Record<string, string>> } => ({
  headers: { 'Retry-After': String(seconds) },
});

/** For how long what a refusal limits is left alone where it does not say: what is counted by the day or lasts until somebody acts. */
export const secondsToWait = (refusal: Refusal): number => refusal.retryAfter ?? 3_600;

/** What is not there, and what the person may not see: the same answer for both. */
export const nothingThere = (): Problem => new Problem(404, 'not_found', 'There is nothing here, or not for you.');

/** What is there for the person, who may not do this to it. */
export const notAllowed = (cause?: unknown): Problem =>
  new Problem(403, 'denied', 'You do not have permission to do this.', { cause });

/** What is more than is taken; `message` says how much is. */
export const tooLarge = (message: string): Problem => new Problem(413, 'validation_error', message);

/** Refusals of what is allowed to the person once they have shown more of who they are. */
const proofs: ReadonlySet<string> = new Set(['recent_sign_in_required', 'second_factor_required']);

function ofRefusal(error: Refusal): Problem {
  const { reason, message } = error;
  if (reason === 'not_found') return nothingThere();
  if (reason === 'too_many_mails' || reason === 'sandbox_just_reset')
    return new Problem(429, reason, message, { ...retryAfter(secondsToWait(error)), cause: error });
  return new Problem(proofs.has(reason) ? 403 : 409, reason, message, { cause: error });
}

/** What is said when the database or the file system has no room left. */
export const noRoomLeft =
  'Dealkeep has no room left to store this, and nothing was changed. Tell whoever runs the service.';

/** Whether the database or the file system has no room left. */
const isFull = (error: unknown): boolean => error instanceof StorageFull || isWithoutRoom(error);

/** What an error means to the client: the one meaning of each error of the database; null for a failure of ours. */
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
    const message = 'The service cannot reach its database: try again in a moment.';
    return new Problem(503, 'unavailable', message, { ...retryAfter(5), cause });
  }
  if (error instanceof StoreUnavailable) {
    const message = 'The service cannot reach its document store: try again in a moment.';
    return new Problem(503, 'unavailable', message, { ...retryAfter(5), cause });
  }
  if (isFull(error)) {
    return new Problem(507, 'storage_full', noRoomLeft, { ...retryAfter(60), cause });
  }
  return null;
}

/** A failure of the service: the caller gets only the id under which it is in the log. */
const failure = (requestId: string, cause: unknown): Problem =>
  new Problem(
    500,
    'internal_error',
    `Something failed on our side. If it happens again, tell whoever runs Dealkeep this number: ${requestId}.`,
    { cause },
  );

/**
 * What an error that ended a request means, with a line in the log where we or the database failed. `knows` tells whether an
 * interface has a code: a problem that it has no word for is a failure too.
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
    log.warn({ requestId, reason: String(cause.cause) }, `the database is ${cause instanceof Busy ? 'busy' : 'away'}`);
  if (cause instanceof StoreUnavailable) log.error({ requestId, err: cause }, 'the document store is away');
  if (isFull(cause)) log.error({ requestId, err: cause }, 'no room left to store what is sent');
  return problem;
}

/** Hono's error handler for routes that write problems by `write`; `knows` as for {@link reported}. */
export const problemHandler =
  (log: Logger, write: WriteProblem, knows?: (code: string) => boolean): ErrorHandler =>
  (error, c) =>
    write(c, reported(error, c, log, knows));

/** What does not fit a schema. */
export const errorsOf = (error: z.ZodError): FieldError[] =>
  error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));

/** 400 with each fault at its field. */
export const invalid = (details: FieldError[]): Problem =>
  new Problem(400, 'validation_error', details[0]?.message ?? 'Something does not fit.', { details });

/** What a form can show at its fields: nothing beside them, as headers and paths are. */
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
