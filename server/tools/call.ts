/** One call of a tool, step by step: availability, scope, input, permission, work, and the audit record. */

import type { CallToolResult } from '@modelcontextprotocol/server';
import { Unavailable } from '../database/errors.ts';
import type { Statement } from '../database/statement.ts';
import { recordToolCall, recordToolRead } from '../domain/audit/tool-calls.ts';
import {
  claimToolCallKey,
  digestOfRequest,
  firstToolAnswer,
  isIdempotencyKey,
  once,
  rememberToolAnswer,
} from '../domain/clients/idempotency.ts';
import type { ToolRead } from '../domain/clients/tokens.ts';
import type { ToolOutcome } from '../telemetry/metrics.ts';
import { traced, type OpenSpan } from '../telemetry/tracing.ts';
import { withinDeal, withinDealOf, type DealScope } from '../domain/visibility/deal-scope.ts';
import { isUuid } from '../lib/uuid.ts';
import type { Plan, Tool } from './define.ts';
import { isObject, type RequestContext } from './request-context.ts';
import { invalidInput } from './inputs.ts';
import { featureNotAvailable, internalError, missingScope, refusalOf, type CallFacts } from './refusals.ts';
import { idempotencyKeyName, refusal, replayed, success, ToolRefusal, type RefusalBody } from './results.ts';

type Input = Readonly<Record<string, unknown>>;

const asId = (value: unknown): string | null =>
  typeof value === 'string' && isUuid(value) ? value.toLowerCase() : null;

/** The subject of a call, for the audit trail: deal, and finding or financing source. */
const subjectOf = ({ deal_id, finding_id, source_id }: Input) => ({
  dealId: asId(deal_id),
  subjectId: asId(finding_id ?? source_id),
});

/** The statement that leaves an audit record of a call with this outcome. */
function record({ from }: RequestContext, tool: Tool, input: Input, outcome: string): Statement<unknown> {
  const { subjectId } = subjectOf(input);
  const leave = tool.scope === 'mcp:read' ? recordToolRead : recordToolCall;
  return leave(tool.name, subjectId, outcome, within(input), from.address, from.requestId);
}

/** The deal that a call is about, when its input names a deal or a record of a deal; otherwise null. */
function within({ deal_id, finding_id, source_id }: Input): DealScope | null {
  const [deal, finding, source] = [asId(deal_id), asId(finding_id), asId(source_id)];
  if (deal !== null) return withinDeal(deal);
  if (finding !== null) return withinDealOf('findings', finding);
  return source === null ? null : withinDealOf('financing_sources', source);
}

/**
 * The results of a reading tool's work: read by the statement that enters with the token, or otherwise by statements in
 * its transaction. Whichever answers also leaves the audit record.
 */
async function foundBy(
  context: RequestContext,
  about: DealScope | null,
  read: ToolRead,
  { enteringRead, work: statements }: Pick<Plan, 'enteringRead' | 'work'>,
): Promise<readonly unknown[]> {
  const { database } = context.services;
  const [found] = enteringRead ? await database.together(context.enterAndRead(about, read, enteringRead)) : [null];
  return found ?? (await database.together(context.enterToCall(about, read), ...statements)).slice(1);
}

/**
 * The result of the work. Everything is one transaction and one round trip: entering with the token, the gate of a
 * writing tool, the work, and the audit record, which the entering statement of a reading tool leaves. When the
 * entering statement should have answered but the node does not hold the deal's books, a second transaction does
 * everything. mcp:read needs no further check: every token has it.
 */
async function work(
  context: RequestContext,
  tool: Tool,
  input: Input,
  { given, meta }: Pick<ToolCall, 'given' | 'meta'>,
): Promise<CallToolResult> {
  const { database, config } = context.services;
  if (tool.feature && !config.features[tool.feature]) throw new ToolRefusal(featureNotAvailable(tool));
  // Checked before the input. The database checks again, in the transaction that writes.
  if (!context.holder?.scopes.includes(tool.scope)) throw new ToolRefusal(missingScope(factsOf(context, tool, input)));
  const plan = tool.plan(given, context.from, config);
  const read = tool.scope === 'mcp:read' ? { tool: tool.name, ...subjectOf(input), from: context.from } : null;
  const answerOf = (found: readonly unknown[]): Record<string, unknown> => {
    const result = plan.answer(found, context.caller ?? null);
    if (result === null) throw new Error(`${tool.name} wrote nothing and was not refused`);
    return result;
  };
  if (read?.subjectId && read.dealId === null) {
    // Only under the row-level security policies is it known whether the caller sees the record, and so whether the
    // deal may be revealed.
    const after = [...plan.work, record(context, tool, input, 'ok')];
    const found = (await database.together(context.enterToCall(within(input), null), ...after)).slice(1, -1);
    return success(answerOf(found), context.takesLinks ? plan.links(found) : []);
  }
  if (read) {
    const found = await foundBy(context, within(input), read, plan);
    return success(answerOf(found), context.takesLinks ? plan.links(found) : []);
  }
  const before = [context.enterToCall(within(input), null), ...(plan.gate ? [plan.gate] : [])];
  const after = [...plan.work, record(context, tool, input, 'ok')];
  const key = keyIn(meta);
  if (key === null) return success(answerOf((await database.together(...before, ...after)).slice(before.length, -1)));
  const digest = digestOfRequest(plan.said);
  const first = {
    statements: [...before, claimToolCallKey(tool.name, key, digest), ...after],
    next: (found: readonly unknown[]) => {
      const answer = answerOf(found.slice(before.length + 1, -1));
      return { answer, keep: rememberToolAnswer(tool.name, key, JSON.stringify(answer)) };
    },
  };
  const { answer, isRepeated } = await once(database, first, async () => {
    const again = firstToolAnswer<Record<string, unknown>>(tool.name, key, digest);
    const found = await database.together(...before, again, record(context, tool, input, 'repeated'));
    return found[before.length] as Record<string, unknown> | null;
  });
  return isRepeated ? replayed(answer) : success(answer);
}

/** The idempotency key of a call; null without one. Throws a {@link ToolRefusal} when it is not valid. */
function keyIn(meta: Input): string | null {
  const key = meta[idempotencyKeyName];
  if (key === undefined || key === null) return null;
  if (typeof key === 'string' && isIdempotencyKey(key)) return key;
  const allowed = 'text of 1 to 255 visible ASCII characters';
  throw new ToolRefusal(
    invalidInput([{ path: `_meta.${idempotencyKeyName}`, message: 'It is not a valid key.', allowed }]),
  );
}

function factsOf({ services, holder }: RequestContext, tool: Tool, input: Input): CallFacts {
  return {
    tool,
    dealId: asId(input['deal_id']),
    clientId: holder?.clientId ?? null,
    baseUrl: services.config.baseUrl,
  };
}

/** What an error means to the caller. Unknown errors are logged, and nothing of them is in the answer. */
export function explain(context: RequestContext, tool: Tool, input: Input, error: unknown): RefusalBody {
  const { services, from } = context;
  const known = refusalOf(error, factsOf(context, tool, input));
  if (known === null) services.log.error({ requestId: from.requestId, tool: tool.name, err: error }, 'a tool failed');
  return known ?? internalError(from.requestId);
}

/**
 * Leaves an audit record of a failed call in a transaction of its own: the call's transaction was rolled back, or never
 * begun.
 */
export async function recordFailure(context: RequestContext, tool: Tool, input: Input, outcome: string): Promise<void> {
  const { services, from } = context;
  try {
    await services.database.together(context.enter(within(input)), record(context, tool, input, outcome));
  } catch (error) {
    services.log.warn(
      { requestId: from.requestId, tool: tool.name, outcome, err: error },
      'a tool call left no record',
    );
  }
}

/** Outcomes that we have to fix, not the caller. */
const faults = new Set(['internal_error', 'unavailable', 'busy']);

const kindOfOutcome = (outcome: string): ToolOutcome => {
  if (outcome === 'ok') return 'ok';
  return faults.has(outcome) ? 'failed' : 'refused';
};

/** A call as it was sent. */
export interface ToolCall {
  readonly tool: Tool;
  /** The arguments as sent. */
  readonly given: unknown;
  /** `_meta` as sent. */
  readonly meta: Readonly<Record<string, unknown>>;
}

/** The result of a call: the tool's answer, or why the call failed. Never rejects. */
export function callTool(context: RequestContext, sent: ToolCall): Promise<CallToolResult> {
  const { tool } = sent;
  const attributes = { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': tool.name };
  return traced(
    context.services.tracing,
    { name: `tools/call ${tool.name}`, kind: 'internal', attributes, below: 'open' },
    (span) => call(context, sent, span),
  );
}

async function call(context: RequestContext, sent: ToolCall, span: OpenSpan): Promise<CallToolResult> {
  const { services, from } = context;
  const { tool, given } = sent;
  const input = isObject(given) ? given : {};
  const began = performance.now();
  let result: CallToolResult;
  let outcome = 'ok';
  try {
    result = await work(context, tool, input, sent);
  } catch (error) {
    const body = explain(context, tool, input, error);
    outcome = body.error;
    result = refusal(body);
    if (!(error instanceof Unavailable)) await recordFailure(context, tool, input, outcome);
  }
  const ms = Math.round((performance.now() - began) * 10) / 10;
  services.metrics.toolCalled(tool.name, kindOfOutcome(outcome), ms / 1000);
  if (context.caller === null) outcome = 'invalid_token';
  span.set({ 'dealkeep.outcome': outcome });
  if (kindOfOutcome(outcome) === 'failed') span.fail(outcome);
  services.log.info({ requestId: from.requestId, tool: tool.name, outcome, ms }, 'tool call');
  return result;
}
