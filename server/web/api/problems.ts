/** Errors of the web application's JSON routes: one format, with messages that say what to change. */

import type { Context } from 'hono';
import { ConnectionLost, Refusal, Unavailable } from '../../database/errors.ts';
import { nothingThere, Problem, writeProblemJson, type WriteProblem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { inOwnFrame } from '../../http/safe-headers.ts';

/** Returns the result of a lookup. Throws 404 when it is null: it does not exist or the person does not see it. */
export function orNotFound<T>(answer: T | null): T {
  if (answer === null) throw nothingThere();
  return answer;
}

/**
 * Returns the answer. Throws 404 when the database rejected because the key or webhook does not exist or belongs to
 * another brokerage.
 */
export async function orMissing<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const isMissing = error instanceof Refusal && ['webhook_not_found', 'api_key_not_found'].includes(error.reason);
    throw isMissing ? nothingThere() : error;
  }
}

/** 409: `what` the person has read was changed meanwhile. */
export const changedMeanwhile = (what: string): Problem =>
  new Problem(409, 'conflict', `${what} meanwhile. Review it, then try again.`);

/** Changes that a page offers only while it does not know the current state yet. */
const impossibleMoves: ReadonlySet<string> = new Set(['move_not_allowed', 'question_closed']);

/**
 * The message of a problem for a person who reads it on a page: it avoids names of states, and warns against repeating
 * a request that may have succeeded.
 */
function sentenceOf(c: Context, { code, message, cause }: Problem): string {
  if (impossibleMoves.has(code)) return 'This was changed meanwhile. Check where it stands now, then choose again.';
  if (c.req.method === 'GET') return message;
  if (code === 'internal_error')
    return `Something went wrong on our side. Check whether it was done before you try again. If it happens again, give whoever runs Dealkeep this request id: ${requestIdOf(c)}.`;
  if (cause instanceof Unavailable && cause.cause instanceof ConnectionLost)
    return 'The service lost its database connection before it could respond. Your change may have been saved, so check before you send it again.';
  return message;
}

/** Whether one of our own pages loads this in a frame, as it does for a file, and displays the error there. */
const isInOwnFrame = (c: Context): boolean =>
  c.req.header('sec-fetch-dest') === 'iframe' && c.req.header('sec-fetch-site') === 'same-origin';

/** Responds to a page with the problem. */
export const answerProblem: WriteProblem = (c, problem) => {
  if (isInOwnFrame(c)) for (const [name, value] of inOwnFrame) c.header(name, value);
  return writeProblemJson(c, problem, sentenceOf(c, problem));
};
