/** The errors of the web application's JSON routes: one shape, with words that say what to change. */

import type { Context } from 'hono';
import { ConnectionLost, Refusal, Unavailable } from '../../database/errors.ts';
import { nothingThere, Problem, writeProblemJson, type WriteProblem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import { inOwnFrame } from '../../http/safe-headers.ts';

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

/** 409: `what` the person has read is not what is there now. */
export const changedMeanwhile = (what: string): Problem =>
  new Problem(409, 'conflict', `${what} meanwhile. Review it, then try again.`);

/** Moves that a page offers only while it does not know yet where things stand. */
const impossibleMoves: ReadonlySet<string> = new Set(['move_not_allowed', 'question_closed']);

/** A problem in words for who reads it on a page: they know no names of states, and what was perhaps done they could do twice. */
function sentenceOf(c: Context, { code, message, cause }: Problem): string {
  if (impossibleMoves.has(code)) return 'This was changed meanwhile. Look at where it stands now, and choose again.';
  if (c.req.method === 'GET') return message;
  if (code === 'internal_error')
    return `Something failed on our side. Look whether it was done before you do it again. If it happens again, tell whoever runs Dealkeep this number: ${requestIdOf(c)}.`;
  if (cause instanceof Unavailable && cause.cause instanceof ConnectionLost)
    return 'The service lost its database before it could answer. What you sent may have arrived, so look before you send it again.';
  return message;
}

/** Whether one of our own pages asks in a frame, as it does for a file, and reads there why it gets none. */
const isInOwnFrame = (c: Context): boolean =>
  c.req.header('sec-fetch-dest') === 'iframe' && c.req.header('sec-fetch-site') === 'same-origin';

/** The problem as an answer to a page. */
export const answerProblem: WriteProblem = (c, problem) => {
  if (isInOwnFrame(c)) for (const [name, value] of inOwnFrame) c.header(name, value);
  return writeProblemJson(c, problem, sentenceOf(c, problem));
};
