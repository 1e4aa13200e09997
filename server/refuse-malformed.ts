/** Answers what is refused before any path is looked up, in the form of the interface that was meant. */

import type { Context, MiddlewareHandler } from 'hono';
import { refusalOf, type Refused } from './http/malformed.ts';
import { problem } from './http/pages.ts';
import { resourcePaths } from './http/resource-metadata.ts';
import { endpoints } from './oauth/metadata.ts';
import { answerError, invalidRequest } from './oauth/oauth-error.ts';
import { answerFault, Fault, invalid } from './rest/envelope.ts';
import { answerFault as answerToolFault, Fault as ToolFault } from './tools/fault.ts';
import { answerProblem, Problem } from './web/api/problems.ts';

const oauthPaths = new Set<string>(Object.values(endpoints));
const toolPaths = new Set(resourcePaths.flatMap((path) => [path, `${path}/`]));

const isBelow = (path: string, start: string): boolean => path === start || path.startsWith(`${start}/`);

function answerRefused(c: Context, { status, message, header }: Refused): Response {
  const { path } = c.req;
  if (isBelow(path, '/api/v1')) {
    const fault = header === undefined ? null : invalid([{ in: 'header', path: header, message }], status);
    return answerFault(c, fault ?? new Fault(status, 'validation_error', message));
  }
  if (toolPaths.has(path)) return answerToolFault(new ToolFault(status, message), null);
  if (oauthPaths.has(path) || isBelow(path, '/.well-known')) return answerError(c, invalidRequest(message, status));
  if (isBelow(path, '/api/web')) return answerProblem(c, new Problem(status, 'validation_error', message));
  return problem(c, status, 'validation_error', message);
}

/** Mount behind the request id, the address and the log. */
export const refuseMalformed: MiddlewareHandler = async (c, next) => {
  const refused = refusalOf(c);
  return refused ? answerRefused(c, refused) : next();
};
