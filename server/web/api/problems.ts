/** The errors of the web application's JSON routes: one shape, with words that say what to change. */

import { Refusal } from '../../database/errors.ts';
import { nothingThere, Problem, setHeaders, type Detail, type WriteProblem } from '../../http/problem.ts';

/** One thing to change in the body or the query. */
export type FieldError = Omit<Detail, 'in'>;

/** Every answer that is not 2xx. */
export interface ErrorBody {
  error: { code: string; message: string; details?: readonly FieldError[] };
}

/** What was looked up. Throws 404 where it is null: it is not there, or not for the person. */
export function orNotFound<T>(answer: T | null): T {
  if (answer === null) throw nothingThere();
  return answer;
}

/** What was asked for; 404 where the database refused because a key or webhook is not there, or is another brokerage's. */
export async function orMissing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const isMissing = error instanceof Refusal && ['webhook_not_found', 'api_key_not_found'].includes(error.reason);
    throw isMissing ? nothingThere() : error;
  }
}

/** 400 with each fault at its field. */
export const invalid = (details: FieldError[]): Problem =>
  new Problem(400, 'validation_error', details[0]?.message ?? 'Something does not fit.', { details });

/** 409: `what` the person has read is not what is there now. */
export const changedMeanwhile = (what: string): Problem =>
  new Problem(409, 'conflict', `${what} meanwhile. Review it, then try again.`);

/** What a form can show at its fields: no headers. */
function errorsIn(details: Problem['details']): { details?: readonly FieldError[] } {
  if (!Array.isArray(details)) return {};
  const errors = (details as readonly Detail[]).filter((detail) => detail.in !== 'header');
  return errors.length === 0 ? {} : { details: errors };
}

/** The problem as an answer: {@link ErrorBody}. */
export const answerProblem: WriteProblem = (c, problem) => {
  setHeaders(c, problem);
  const { status, code, message, details } = problem;
  return c.json({ error: { code, message, ...errorsIn(details) } } satisfies ErrorBody, status);
};
