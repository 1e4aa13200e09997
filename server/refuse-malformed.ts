/** Answers what is refused before any path is looked up, in the form of the interface that was meant. */

import type { Context, MiddlewareHandler } from 'hono';
import { refusalOf, type Refused } from './http/malformed.ts';
import { writeProblemPage } from './http/pages.ts';
import { Problem } from './http/problem.ts';
import { resourcePaths } from './http/resource-metadata.ts';
import { endpoints } from './oauth/metadata.ts';
import { writeOAuthError } from './oauth/oauth-error.ts';
import { writeEnvelope } from './rest/envelope.ts';
import { writeRpcError } from './tools/rpc-error.ts';
import { answerProblem } from './web/api/problems.ts';

const oauthPaths = new Set<string>(Object.values(endpoints));
const toolPaths = new Set(resourcePaths.flatMap((path) => [path, `${path}/`]));

const isBelow = (path: string, start: string): boolean => path === start || path.startsWith(`${start}/`);

function answerRefused(c: Context, { status, message, header }: Refused): Response {
  const { path } = c.req;
  const details = header === undefined ? {} : { details: [{ in: 'header' as const, path: header, message }] };
  const problem = new Problem(status, 'validation_error', message, details);
  if (isBelow(path, '/api/v1')) return writeEnvelope(c, problem);
  if (toolPaths.has(path)) return writeRpcError(c, problem);
  if (oauthPaths.has(path) || isBelow(path, '/.well-known')) return writeOAuthError(c, problem);
  if (isBelow(path, '/api/web')) return answerProblem(c, problem);
  return writeProblemPage(c, problem);
}

/** Mount behind the request id, the address and the log. */
export const refuseMalformed: MiddlewareHandler = async (c, next) => {
  const refused = refusalOf(c);
  return refused ? answerRefused(c, refused) : next();
};
