/**
 * Reads data for a request that is no call but shows what a tool shows: as a use of that tool, with its audit record.
 */

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { Unavailable } from '../database/errors.ts';
import type { Statement } from '../database/statement.ts';
import { withinDeal } from '../domain/visibility/deal-scope.ts';
import { explain, recordFailure } from './call.ts';
import type { Tool } from './define.ts';
import type { RequestContext } from './request-context.ts';

/** The codes of refusals that are not protocol errors: HTTP statuses, outside the range of JSON-RPC. */
const codes: Readonly<Record<string, number>> = { second_factor_required: 403, busy: 503, unavailable: 503 };

/**
 * The statement's result for the caller, in one transaction with entering and with the audit record that `tool` was
 * used on this deal and record. Rejects with a ProtocolError that says what to do.
 */
export async function readAsTool<T>(
  context: RequestContext,
  tool: Tool,
  { dealId, subjectId }: { readonly dealId: string | null; readonly subjectId: string | null },
  statement: Statement<T>,
): Promise<T> {
  const { services, from } = context;
  const read = { tool: tool.name, dealId, subjectId, from };
  const input = dealId === null ? {} : { deal_id: dealId };
  try {
    const enter = context.enterToCall(dealId === null ? null : withinDeal(dealId), read);
    const [, found] = await services.database.together(enter, statement);
    return found;
  } catch (error) {
    const { error: code, message, ...more } = explain(context, tool, input, error);
    if (!(error instanceof Unavailable)) await recordFailure(context, tool, input, code);
    throw new ProtocolError(codes[code] ?? ProtocolErrorCode.InternalError, message, { error: code, ...more });
  }
}
