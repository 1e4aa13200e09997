/** The results of tools as they are sent: the object, and the same as JSON text (specification, section 7.2). */

import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/server';

/** Why a call failed. */
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

/** The answer to the model when a call failed. */
export interface RefusalBody {
  readonly error: ErrorCode;
  readonly message: string;
  readonly [more: string]: unknown;
}

/** A failed call; `body` is its answer. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
  readonly body: RefusalBody;
  constructor(body: RefusalBody, options?: ErrorOptions) {
    super(body.message, options);
    this.body = body;
  }
}

/** A successful result; `links` to resources follow its text. */
export function success(structured: Record<string, unknown>, links: readonly ResourceLink[] = []): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(structured) }, ...links],
    structuredContent: structured,
  };
}

/**
 * The members of a result without links as JSON, exactly as the SDK writes them; the text is reused instead of
 * serializing the object again.
 */
export function resultText({ content: [said], isError }: CallToolResult): string {
  if (said?.type !== 'text') throw new Error('A result begins with its text.');
  const { text } = said;
  return `"content":[{"type":"text","text":${JSON.stringify(text)}}],"structuredContent":${text}${isError ? ',"isError":true' : ''}`;
}

/** The repeated result of an earlier successful call with the same {@link idempotencyKeyName}. */
export const replayed = (structured: Record<string, unknown>): CallToolResult => ({
  ...success(structured),
  _meta: { 'com.dealkeep/idempotent-replayed': true },
});

/** The name in `_meta` under which a call of a writing tool can send a key that makes it safe to repeat. */
export const idempotencyKeyName = 'com.dealkeep/idempotency-key';

/** The result of a call that was refused. */
export function refusal(body: RefusalBody): CallToolResult {
  return { ...success(body), isError: true };
}
