/** The errors of the web application's JSON routes: one shape, with words that say what to change. */

import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { Busy, Conflict, Denied, Invalid, Refusal } from '../../database/errors.ts';

export interface Fault {
  /** The field of the body or query, parts joined by dots. */
  path: string;
  message: string;
}

/** Every answer that is not 2xx. */
export interface ErrorBody {
  error: { code: string; message: string; details?: Fault[] };
}

/** An answer that is not 2xx: {@link ErrorBody}. */
export class Problem extends Error {
  readonly status: ContentfulStatusCode;
  readonly code: string;
  readonly details: Fault[] | undefined;

  constructor(status: ContentfulStatusCode, code: string, message: string, details?: Fault[]) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** What is not there, and what the person may not see: the same answer for both. */
export const nothingThere = (): Problem => new Problem(404, 'not_found', 'There is nothing here, or not for you.');

/** What was looked up. Throws 404 where it is null: it is not there, or not for the person. */
export function orNotFound<T>(answer: T | null): T {
  if (answer === null) throw nothingThere();
  return answer;
}

/** 400 with each fault at its field. */
export const invalid = (details: Fault[]): Problem =>
  new Problem(400, 'validation_error', details[0]?.message ?? 'Something does not fit.', details);

/** What an error means to the person, or null when it is a failure of ours. */
export function problemOf(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  if (error instanceof Refusal) {
    if (error.reason === 'not_found') return nothingThere();
    if (error.reason === 'too_many_mails') return new Problem(429, error.reason, error.message);
    const status = error.reason === 'recent_sign_in_required' ? 403 : 409;
    return new Problem(status, error.reason, error.message);
  }
  if (error instanceof Denied) return new Problem(403, 'denied', 'You may not do this here.');
  if (error instanceof Invalid) return invalid([{ path: error.field ?? '', message: error.message }]);
  if (error instanceof Conflict) return new Problem(409, 'conflict', error.message);
  if (error instanceof Busy) return new Problem(503, 'busy', error.message);
  if (error instanceof HTTPException)
    return new Problem(error.status as ContentfulStatusCode, 'refused', error.message);
  return null;
}

/** The problem as an answer. */
export function answerProblem(c: Context, { status, code, message, details }: Problem): Response {
  if (code === 'too_many_mails') c.header('Retry-After', '3600');
  return c.json({ error: { code, message, ...(details ? { details } : {}) } } satisfies ErrorBody, status);
}
