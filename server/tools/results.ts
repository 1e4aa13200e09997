/** The results of tools as they go over the wire: the object, and the same as JSON text (specification, section 7.2). */

import type { CallToolResult } from '@modelcontextprotocol/server';

/** Why a call came to nothing. */
export type ErrorCode =
  | 'feature_not_available'
  | 'validation_error'
  | 'permission_denied'
  | 'second_factor_required'
  | 'submission_rejected'
  | 'rls_denied'
  | 'busy'
  | 'unavailable'
  | 'internal_error';

/** What the model is told when a call came to nothing. */
export interface RefusalBody {
  readonly error: ErrorCode;
  readonly message: string;
  readonly [more: string]: unknown;
}

/** A call came to nothing; thrown or returned, it is answered with its body. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
  readonly body: RefusalBody;
  constructor(body: RefusalBody, options?: ErrorOptions) {
    super(body.message, options);
    this.body = body;
  }
}

/** A result; `beside` is for what the host draws of it, and goes into `_meta`. */
export function success(structured: Record<string, unknown>, beside?: Record<string, unknown>): CallToolResult {
  const result = {
    content: [{ type: 'text' as const, text: JSON.stringify(structured) }],
    structuredContent: structured,
  };
  return beside ? { ...result, _meta: beside } : result;
}

/** A success that was answered before, to a call with the same {@link idempotencyKeyName}. */
export const replayed = (structured: Record<string, unknown>): CallToolResult => ({
  ...success(structured),
  _meta: { 'com.dealkeep/idempotent-replayed': true },
});

/** Under this name in `_meta` a call of a tool that writes can carry a key that makes it safe to repeat. */
export const idempotencyKeyName = 'com.dealkeep/idempotency-key';

export function refusal(body: RefusalBody): CallToolResult {
  return { ...success(body), isError: true };
}
