/**
 * The format of errors that occur before the protocol: an HTTP status with a JSON-RPC error that says what to change. A
 * 401 goes to the client's OAuth code and has OAuth's format.
 */

import type { Context } from 'hono';
import { Problem, retryAfter } from '../http/problem.ts';
import { requestIdOf } from '../http/request-id.ts';

/** JSON-RPC's codes, used only for their defined meanings; for every other problem the code is the HTTP status. */
const rpcCodes = new Map([
  ['parse_error', -32_700],
  ['invalid_request', -32_600],
  ['internal_error', -32_603],
]);

function inOurWords(c: Context, problem: Problem): Problem {
  switch (problem.code) {
    case 'unavailable': {
      const message =
        'The service cannot reach its database: try again shortly. A change in progress may have been saved.';
      return new Problem(503, problem.code, message, retryAfter(5));
    }
    case 'internal_error':
      return new Problem(
        500,
        problem.code,
        `Something went wrong on our side: try again, and if it fails again, tell the operator the request id ${requestIdOf(c)}.`,
      );
    default:
      return problem;
  }
}

/** The error response; `id` is the request's JSON-RPC id, if known. */
export function writeRpcError(c: Context, problem: Problem, id: string | number | null = null): Response {
  const { status, code, message, headers } = inOurWords(c, problem);
  if (code === 'invalid_token') return Response.json({ error: code, error_description: message }, { status, headers });
  const error = { code: rpcCodes.get(code) ?? status, message };
  return Response.json({ jsonrpc: '2.0', error, id }, { status, headers });
}
